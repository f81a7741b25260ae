"""Consensus proofs of debates: the rules of SPEC 14, sizes, and errors that name the field."""

import json
from pathlib import Path
from typing import Any

import pytest

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.debate import DebateError, debate_proof, parse_debate
from sssa.proofs.records import VoteType
from sssa.protocol.strict_json import JsonError

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "debate.json"
BASE = {
    "debate_version": "1.0",
    "debate_id": "d",
    "task": "t",
    "final_claim": "yes",
    "consensus_reached": True,
}


def proof_of(**fields: Any) -> ConsensusProof:
    return debate_proof(parse_debate(json.dumps(BASE | fields).encode()))


def proposals(*agents: str) -> list[dict[str, str]]:
    return [{"agent": agent, "content": f"{agent} proposes"} for agent in agents]


def critique(agent: str, target: str, severity: float, **fields: Any) -> dict[str, Any]:
    return {"agent": agent, "target": target, "issues": ["wrong", "slow"], "severity": severity} | fields


def test_the_example_of_the_docs() -> None:
    proof = debate_proof(parse_debate(EXAMPLE.read_bytes()))
    assert [(vote.agent, vote.vote) for vote in proof.votes] == [
        ("ada", VoteType.AGREE),
        ("ben", VoteType.DISAGREE),
        ("eve", VoteType.CONDITIONAL),
    ]
    assert proof.votes[1].confidence == pytest.approx(0.2)
    assert proof.confidence == pytest.approx((0.6 + 0.2 + 0.5 * 0.7) / 2.5)
    assert proof.agreement_ratio == 2 / 3
    ada, ben = proof.claims
    assert [item.strength for item in ada.supporting_evidence] == [0.6, 0.6]
    assert [item.strength for item in ada.refuting_evidence] == [0.8 * 0.8] * 2
    assert [item.strength for item in ben.refuting_evidence] == [0.8 * 0.4]
    assert len(proof.unresolved_tensions) == 1
    attached = {item.evidence_id for claim in proof.claims for item in claim.supporting_evidence}
    assert proof.evidence_chain[3].source == "eve"
    assert proof.evidence_chain[3].evidence_id not in attached
    assert proof.created_at == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("severity", "vote", "tensions"), [(0.6, "agree", 0), (0.7, "disagree", 0), (0.71, "disagree", 1)]
)
def test_the_edges_of_severity_are_strict(severity: float, vote: str, tensions: int) -> None:
    proof = proof_of(proposals=proposals("a", "b"), critiques=[critique("a", "b", severity)])
    assert (proof.votes[0].vote, len(proof.unresolved_tensions)) == (vote, tensions)


def test_the_last_critique_decides_and_evidence_goes_to_the_latest_claim() -> None:
    proof = proof_of(
        proposals=proposals("a", "b", "b"),
        critiques=[critique("a", "b", 0.9), critique("a", "b", 0.1)],
        consensus_reached=False,
    )
    assert [vote.vote for vote in proof.votes] == ["conditional", "conditional"]
    assert [len(claim.refuting_evidence) for claim in proof.claims] == [0, 0, 4]


def test_an_agents_own_vote_stands_and_of_several_the_last() -> None:
    votes = [{"agent": "a", "vote": "agree", "confidence": 0.1}, {"agent": "a", "vote": "abstain", "confidence": 0.2}]
    proof = proof_of(proposals=proposals("a", "b"), critiques=[critique("a", "b", 0.9)], votes=votes)
    assert [(vote.agent, vote.vote) for vote in proof.votes] == [("a", "abstain"), ("b", "agree")]


def test_two_and_a_thousand_agents() -> None:
    assert len(proof_of(proposals=proposals("a", "b")).votes) == 2
    agents = [f"agent-{i:04}" for i in range(1_000)]
    ring = zip(agents, [*agents[1:], agents[0]], strict=True)
    proof = proof_of(proposals=proposals(*agents), critiques=[critique(a, b, 0.65) for a, b in ring])
    assert proof.dissenting_agents == agents
    assert len(proof.evidence_chain) == 3_000
    assert proof.to_markdown().count("\n| agent-") == 1_000


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, "all empty"),
        ({"proposals": proposals("a"), "critiques": [critique("a", "b", 0.5)]}, r"critiques\[0\].target"),
    ],
)
def test_debates_that_prove_nothing(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(DebateError, match=named):
        proof_of(**fields)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"votes": [{"agent": "a", "vote": "agree", "confidence": 1.5}]}, r"votes\[0\].confidence"),
        ({"votes": [{"agent": "a", "vote": "agree", "confidence": float("nan")}]}, "malformed"),
        ({"votes": [{"agent": "a", "vote": "maybe", "confidence": 1}]}, r"votes\[0\].vote"),
        ({"proposals": [{"agent": "", "content": "x"}]}, r"proposals\[0\].agent"),
        ({"confidence": -1}, "confidence"),
        ({"debate_id": "a b"}, "debate_id"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"extra": 1}, "extra"),
    ],
)
def test_bad_documents_name_the_field(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(JsonError, match=named):
        proof_of(**fields)
