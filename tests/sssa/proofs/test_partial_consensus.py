"""Partial consensus: which claims a debate agrees on though the whole is contested (SPEC 14)."""

import json
from typing import Any

from sssa.proofs.builder import ConsensusBuilder
from sssa.proofs.consensus_proof import ClaimConsensus, ConsensusProof
from sssa.proofs.debate import debate_proof, parse_debate


def debated(**fields: Any) -> ConsensusProof:
    base = {"debate_version": "1.0", "debate_id": "d", "task": "t", "final_claim": "?", "consensus_reached": False}
    base["proposals"] = [{"agent": agent, "content": f"{agent} <proposes>"} for agent in "abc"]
    return debate_proof(parse_debate(json.dumps(base | fields).encode()))


def against(agent: str, target: str, severity: float) -> dict[str, Any]:
    return {"agent": agent, "target": target, "issues": ["no"], "severity": severity}


def test_a_debate_agrees_on_some_claims_and_not_on_others() -> None:
    proof = debated(critiques=[against("a", "c", 0.9), against("b", "c", 0.7), against("c", "b", 0.6)])
    a, b, c = proof.get_partial_consensus()
    assert a == ClaimConsensus("d-claim-1", True, 1.0, ["a"], [], 2, 1.0)
    assert (b.agreed, b.supporting_agents, b.dissenting_agents, b.consenting) == (True, ["b"], [], 2)  # 0.6 is mild
    assert (c.agreed, c.agreement_ratio, c.dissenting_agents, c.consenting) == (False, 1 / 3, ["a", "b"], 0)
    assert proof.to_dict()["partial_consensus"][2]["dissenting_agents"] == ["a", "b"]
    page = proof.to_markdown()
    assert "Agreed: 2 of 3 claims; the whole is contested." in page
    assert f"| no | 1 | 0 | 2 | {c.net_evidence_strength:+.4f} | c \\<proposes\\> |" in page


def test_the_last_critique_of_a_claim_decides_and_abstainers_take_no_position() -> None:
    critiques = [against("a", "c", 0.9), against("a", "c", 0.1)]
    votes = [{"agent": "b", "vote": "abstain", "confidence": 0.5}]
    _, b, c = debated(critiques=critiques, votes=votes).get_partial_consensus()
    assert (c.agreed, c.dissenting_agents, c.consenting) == (True, [], 1)
    assert (b.supporting_agents, b.consenting) == (["b"], 2)


def test_a_proposal_takes_the_place_of_its_authors_earlier_ones() -> None:
    proposals = [{"agent": agent, "content": f"{i}"} for i, agent in enumerate("aba")]
    proof = debated(proposals=proposals)
    assert [one.claim_id for one in proof.get_partial_consensus()] == ["d-claim-2", "d-claim-3"]
    assert "| replaced |  |  |  | +1.0000 | 0 |" in proof.to_markdown()


def test_claims_of_other_producers_stand_until_they_are_revised_or_withdrawn() -> None:
    builder = ConsensusBuilder("d", "t")
    first = builder.add_claim("one", "a")
    second = builder.add_claim("two", "a", parent_claim_id=first.claim_id)
    builder.add_claim("three", "a").status = "withdrawn"
    builder.add_evidence(second.claim_id, "a tool", "c", strength=1.0)
    builder.record_dissent("a", second.claim_id, ["r"], "procedural")
    builder.record_dissent("b", second.claim_id, ["r"], "full")
    for agent in ("a", "b"):
        builder.record_vote(agent, "conditional", 0.5, "r")
    (one,) = builder.build("f", None, False, "s").get_partial_consensus()
    assert one == ClaimConsensus(second.claim_id, False, 0.5, [], ["b"], 1, 1.0)


def test_one_agent_alone_agrees_with_nobody() -> None:
    builder = ConsensusBuilder("d", "t")
    builder.add_claim("one", "a")
    builder.record_vote("a", "agree", 0.5, "r")
    (one,) = builder.build("f", None, True, "s").get_partial_consensus()
    assert (one.agreed, one.agreement_ratio, one.consenting) == (False, 1.0, 1)
