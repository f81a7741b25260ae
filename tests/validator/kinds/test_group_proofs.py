"""Consensus proofs of task groups: the rules of SPEC 14, and the same proof from any order."""

import json
from typing import Any

import msgspec
import pytest
from builders import V1, finding, make_task
from group_rounds import MCP, NAMES, Settled, group_proof, settled, shuffled, signed, signer, worked_example
from hypothesis import given
from hypothesis import strategies as st
from resealed import Change, resealed

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.document import TouchedError, document_bytes, proof_document, verify_document
from sssa.proofs.records import VoteType
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Submission, VoidTask
from sssa.protocol.round import AssessedMember
from sssa.protocol.signatures import verify_document as is_signed
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding, signing_bytes
from sssa.scoring import score_round

RAG = SkillType.RAG_KNOWLEDGE
TASK = make_task(RAG)
ORDERS = st.permutations(range(5))


def proof_of(round_: Settled, **options: Any) -> ConsensusProof:
    proof = group_proof(*round_, round_.frozen.tasks[0].task_id, **options)
    assert proof is not None
    return proof


def answers_of(round_: Settled) -> list[Submission]:
    return [one for one in round_.results.passed if isinstance(one, Submission)]


def analysis_of(name: str, verdict: str = "BLOCK", refs: tuple[str, ...] = (), **changes: Any) -> Any:
    analysis = {
        "verdict": verdict,
        "risk_score": 0.5,
        "findings": [msgspec.to_builtins(finding(ref=ref)) for ref in refs],
        "capabilities": [],
        "dependencies": [],
    } | changes
    return signed(TASK, name, analysis)


def test_the_worked_example_of_the_source_document() -> None:
    round_ = worked_example()
    assert all(is_signed(s.sssa, s.hotkey) for s in answers_of(round_))
    members = {member.hotkey: member for member in round_.outcome.members}
    p1, a2 = members[signer("P1").hotkey], members[signer("A2").hotkey]
    assert isinstance(p1, AssessedMember)
    assert isinstance(a2, AssessedMember)
    assert p1.components is not None
    assert a2.components is not None
    assert msgspec.structs.astuple(p1.components) == pytest.approx((1.0, 1.0, 1.0, 5 / 6, 0.92, 1.0, 0.8))
    assert msgspec.structs.astuple(a2.components) == pytest.approx((2 / 3, 1.0, 1.0, 5 / 6, 0.85, 0.5, 0.5))
    assert p1.consensus == pytest.approx(0.9570, abs=1e-12)
    assert a2.consensus == pytest.approx(0.7850, abs=1e-12)
    assert (round_.outcome.groups[0].n_valid, round_.outcome.groups[0].threshold) == (5, 3)
    assert len(round_.outcome.groups[0].finding_keys) == 3


def test_the_proof_of_the_worked_example() -> None:
    round_ = worked_example()
    proof = proof_of(round_)
    assert (proof.final_claim, proof.consensus_reached, proof.agreement_ratio) == ("BLOCK", True, 1.0)
    assert proof.supporting_agents == sorted(signer(name).hotkey for name in NAMES)
    votes = {vote.agent: vote for vote in proof.votes}
    assert votes[signer("P1").hotkey].confidence == pytest.approx(0.957)
    assert votes[signer("P1").hotkey].weight == 0.9
    total = sum(vote.weight for vote in proof.votes)
    assert proof.confidence == pytest.approx(sum(vote.weight * vote.confidence for vote in proof.votes) / total)
    assert proof.has_strong_consensus
    assert proof.metadata["finding_keys"] == list(round_.outcome.groups[0].finding_keys)
    shares = {
        claim.statement.split(" ")[0]: (len(claim.supporting_evidence), len(claim.refuting_evidence))
        for claim in proof.claims
    }
    assert shares == {"tool_poisoning": (5, 0), "dependency_cve": (4, 1), "prompt_injection": (3, 2)}
    correlation = proof.get_risk_correlation()
    assert [len(correlation[name]) for name in ("unanimous", "majority", "contested")] == [1, 2, 0]
    assert proof.created_at == "2026-01-01T00:00:00Z"


def test_evidence_names_the_sssa_by_its_canonical_bytes() -> None:
    round_ = worked_example()
    proof = proof_of(round_)
    digests = {s.hotkey: sha256_hex(signing_bytes(s.sssa)) for s in answers_of(round_)}
    assert len(proof.evidence_chain) == 15
    for item in proof.evidence_chain:
        assert item.metadata == {"round_id": "5", "task_id": "t1", "sssa_sha256": digests[item.source]}
        assert (item.strength, item.evidence_type) == (1.0, "tool_output")
    by_claim = [[item.source for item in proof.evidence_chain[i : i + 5]] for i in (0, 5, 10)]
    assert all(sources == sorted(digests) for sources in by_claim)
    own = next(item for item in proof.claims[0].supporting_evidence if item.source == signer("A1").hotkey)
    assert own.content.startswith("a1::")


@given(ORDERS)
def test_any_order_of_members_and_answers_gives_the_same_proof(order: list[int]) -> None:
    assert json.dumps(proof_of(shuffled(mixed(), order)).to_dict()) == json.dumps(proof_of(mixed()).to_dict())


def mixed() -> Settled:
    """Two for BLOCK, one for REVIEW, one for ALLOW, one that failed."""
    sssas = {
        "P1": analysis_of("P1", refs=("a.py", "docs/readme.md")),
        "P2": analysis_of("P2", refs=("a.py", "docs/readme.md")),
        "P3": analysis_of("P3", "REVIEW", refs=("a.py",)),
        "A1": analysis_of("A1", "ALLOW", refs=("a.py#L2",)),
    }
    return settled(TASK, sssas, {"A2": Reason.PARSE_SCHEMA})


def test_votes_and_dissents_of_a_divided_group() -> None:
    round_ = mixed()
    proof = proof_of(round_)
    votes = {vote.agent: vote for vote in proof.votes}
    kinds = {name: votes[signer(name).hotkey].vote for name in NAMES}
    assert kinds == {
        "P1": VoteType.AGREE,
        "P2": VoteType.AGREE,
        "P3": VoteType.CONDITIONAL,
        "A1": VoteType.DISAGREE,
        "A2": VoteType.ABSTAIN,
    }
    failed = votes[signer("A2").hotkey]
    assert (failed.confidence, failed.weight) == (0.0, 0.0)
    assert (proof.final_claim, proof.consensus_reached) == ("BLOCK", False)  # two of four are no strict majority
    assert proof.agreement_ratio == 0.75
    dissents = {dissent.agent: dissent for dissent in proof.dissents}
    assert list(dissents) == sorted(dissents)
    consensus = {member.hotkey: member.consensus for member in round_.outcome.members}
    full, partial, procedural = (dissents[signer(name).hotkey] for name in ("A1", "P3", "A2"))
    assert (full.dissent_type, full.alternative_view, full.suggested_resolution) == ("full", "ALLOW", "operator review")
    assert full.severity == 1.0 - consensus[full.agent]
    statements = {claim.statement for claim in proof.claims}
    assert [reason.split(" ")[0] for reason in full.reasons] == ["missed", "extra"]
    assert {reason.split(" ", 1)[1] for reason in full.reasons} < statements
    assert full.reasons[1] == "extra other | low | a.py#L2-L2 | a.py"
    assert (partial.dissent_type, partial.alternative_view) == ("partial", "REVIEW")
    assert partial.suggested_resolution == "operator review"
    assert (procedural.dissent_type, procedural.severity, procedural.reasons) == ("procedural", 0.5, ["parse_schema"])


def test_a_key_of_some_but_not_of_the_group_is_a_tension() -> None:
    proof = proof_of(mixed())  # four valid: T is 3, two report docs/readme.md
    assert [tension.agents_involved for tension in proof.unresolved_tensions] == [
        sorted(signer(name).hotkey for name in ("P1", "P2"))
    ]
    assert proof.unresolved_tensions[0].description in proof.get_risk_correlation()["contested"]


def test_a_group_agrees_on_claims_though_it_is_divided_on_the_verdict() -> None:
    proof = proof_of(mixed())
    assert not proof.consensus_reached
    results = {claim.statement: one for claim, one in zip(proof.claims, proof.get_partial_consensus(), strict=True)}
    agreed = [statement for statement, one in results.items() if one.agreed]
    assert agreed == ["other | low | a.py | a.py"]
    one = results[agreed[0]]
    assert one.supporting_agents == sorted(signer(name).hotkey for name in ("P1", "P2", "P3"))
    assert (one.dissenting_agents, one.consenting, one.agreement_ratio) == ([signer("A1").hotkey], 0, 0.75)
    assert one.net_evidence_strength == 0.5
    assert "Agreed: 1 of 3 claims; the whole is contested." in proof.to_markdown()


def put(path: str, value: object) -> Change:
    """Set the value at a path; of evidence also the copy in the chain."""

    def change(document: dict[str, Any]) -> None:
        *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        at: Any = document
        for key in parents:
            at = at[key]
        at[last] = value
        for item in document["evidence_chain"]:
            if "evidence_id" in at and item["evidence_id"] == at["evidence_id"]:
                item[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("supporting_agents", []),
        ("dissenting_agents", ["z"]),
        ("confidence", 0.99),
        ("consensus_reached", True),
        ("metadata.n_valid", 5),
        ("metadata.threshold", 1),
        ("dissents.0.agent", "z"),
        ("dissents.0.dissent_type", "partial"),
        ("dissents.1.severity", 0.125),
        ("dissents", []),
        ("claims.0.confidence", 0.125),
        ("claims.0.supporting_evidence.0.strength", 0.5),
        ("claims.0.supporting_evidence.0.supports_claim", False),
    ],
)
def test_what_a_group_says_follows_from_its_votes_though_all_is_signed_anew(path: str, value: object) -> None:
    proof = proof_of(mixed())
    assert [dissent.dissent_type for dissent in proof.dissents][:1] != ["partial"]
    with pytest.raises(TouchedError) as caught:
        verify_document(resealed(proof, put(path, value)))
    assert caught.value.place.replace("[", ".").replace("]", "").startswith(path)


def test_a_claim_without_the_evidence_of_a_member_is_found_though_all_is_signed_anew() -> None:
    def fewer(document: dict[str, Any]) -> None:
        claim = document["claims"][1]
        claim["refuting_evidence"] = claim["refuting_evidence"][:-1]

    with pytest.raises(TouchedError, match=r"claims\[1\]: has not one piece of evidence of each valid member"):
        verify_document(resealed(proof_of(mixed()), fewer))


def test_a_group_without_a_verdict_has_no_votes_for_one() -> None:
    proof = proof_of(settled(TASK, {"P1": analysis_of("P1"), "P2": analysis_of("P2", "ALLOW")}))
    assert verify_document(document_bytes(proof_document(proof))).warnings == ()
    proof.votes[1].vote = VoteType.CONDITIONAL
    proof.supporting_agents = [proof.votes[1].agent]
    with pytest.raises(TouchedError, match=r'votes\[1\].vote: is "conditional", "abstain" follows'):
        verify_document(document_bytes(proof_document(proof)))


def test_without_a_group_verdict_everyone_abstains_and_nobody_dissents() -> None:
    sssas = {"P1": analysis_of("P1"), "P2": analysis_of("P2", "ALLOW")}
    proof = proof_of(settled(TASK, sssas, {"P3": Reason.DEADLINE_LATE}))
    assert (proof.final_claim, proof.consensus_reached) == ("NONE", False)
    assert {vote.vote for vote in proof.votes} == {VoteType.ABSTAIN}
    assert (proof.dissents, proof.agreement_ratio, proof.has_strong_consensus) == ([], 0.0, False)


def test_a_group_that_failed_whole_has_a_proof_all_the_same() -> None:
    proof = proof_of(settled(TASK, {}, dict.fromkeys(NAMES, Reason.DEADLINE_CONNECT)))
    assert (proof.final_claim, proof.confidence, proof.claims) == ("NONE", 0.0, [])
    assert "*None*" in proof.to_markdown()


def test_a_finding_reported_twice_counts_once() -> None:
    sssas = {name: analysis_of(name, refs=("a.py", "s1::a.py")) for name in NAMES}
    proof = proof_of(settled(TASK, sssas))
    assert [len(claim.supporting_evidence) for claim in proof.claims] == [5]
    assert all(item.content.startswith("a.py ") for item in proof.evidence_chain)


def test_long_texts_of_miners_are_cut() -> None:
    long = Finding("f", "other", "low", "", "a.py", (), "t" * 4_000)
    sssas = {name: analysis_of(name, findings=[msgspec.to_builtins(long)]) for name in NAMES}
    proof = proof_of(settled(TASK, sssas))
    assert len(proof.claims[0].statement) == len(proof.evidence_chain[0].content) == 513
    assert proof.claims[0].statement.endswith("…")


def test_void_and_skipped_tasks_have_no_proof() -> None:
    round_ = worked_example()
    results = msgspec.structs.replace(round_.results, void=(VoidTask("t1", Reason.BUG_CRASH),))
    outcome = score_round(V1, round_.frozen, round_.plan, results)
    assert group_proof(round_.frozen, round_.plan, results, outcome, "t1") is None
    nobody = settled(make_task(MCP), {})
    assert group_proof(*nobody, "t1") is None


def test_the_json_form_reads_back() -> None:
    document = json.loads(json.dumps(proof_of(mixed()).to_dict()))
    assert document["votes"][0]["vote"] in {"agree", "disagree", "abstain", "conditional"}
    assert len(document["checksum"]) == 16
