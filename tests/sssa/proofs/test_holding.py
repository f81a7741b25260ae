"""A proof must follow from its votes, regardless of its signer."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resealed import FORGER, resealed

from sssa.proofs.builder import ConsensusBuilder
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.debate import debate_proof, parse_debate
from sssa.proofs.document import TouchedError, document_bytes, seal, verify_document
from sssa.proofs.records import VoteType

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "debate.json"
UNIT = st.floats(0, 1)
VOTES = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(list(VoteType)), UNIT, st.floats(0, 1e6)), min_size=1
)
ITEMS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcdef"), st.booleans(), UNIT), max_size=8)


@st.composite
def proofs(draw: st.DrawFn) -> ConsensusProof:
    """Build a proof from any votes and evidence, of our own debate or of another's."""
    kind = draw(st.sampled_from([{"kind": "debate"}, {}]))
    builder = ConsensusBuilder("d", "t", metadata=kind)
    for agent, vote, confidence, weight in draw(VOTES):
        builder.record_vote(agent, vote, confidence, "r", weight=weight)
    claims = [builder.add_claim(f"s{i}", agent) for i, agent in enumerate("aab")]
    for claim, source, supports, strength in draw(ITEMS):
        builder.add_evidence(claims[claim].claim_id, source, "c", supports=supports, strength=strength)
    builder.record_dissent("a", claims[2].claim_id, ["r"], draw(st.sampled_from(["full", "partial", "procedural"])))
    return builder.build("f", draw(st.one_of(st.none(), UNIT)), draw(st.booleans()), "s")


@given(proofs())
@settings(max_examples=60)
def test_what_is_built_and_sealed_holds(proof: ConsensusProof) -> None:
    found = verify_document(document_bytes(seal(proof, FORGER)), FORGER.hotkey)
    assert found.proof.to_dict() == proof.to_dict()
    assert {one.level for one in found.warnings} <= {"unknown"}
    assert [one.place for one in found.warnings] == ["confidence"] * bool(proof.confidence_given)


def other(value: Any) -> Any:
    """Another value of the same type and range."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return value[:-1] if value else ["z"]
    return 0.25 if value == 0.5 else 0.5 if isinstance(value, float) else value + 1


def places(document: dict[str, Any]) -> list[tuple[str | int, ...]]:
    """Return the paths of lists, ratios, confidences and strengths that follow from votes and evidence."""
    found: list[tuple[str | int, ...]] = [("supporting_agents",), ("dissenting_agents",)]
    found += [(name, i) for (name,) in found for i in range(len(document[str(name)]))]
    if not document.get("confidence_given"):
        found.append(("confidence",))
    found += [(name,) for name in ("confidence_given", "agreement_ratio", "has_strong_consensus") if name in document]
    for i, one in enumerate(document.get("partial_consensus", [])):
        found += [("partial_consensus", i, name) for name in one]
    return found


def put(document: dict[str, Any], place: tuple[str | int, ...]) -> None:
    *parents, last = place
    at: Any = document
    for key in parents:
        at = at[key]
    at[last] = other(at[last])


@given(proofs(), st.data())
@settings(max_examples=120)
def test_a_single_change_is_found_and_named_though_all_is_signed_anew(
    proof: ConsensusProof, data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from(places(proof.to_dict())))
    with pytest.raises(TouchedError) as caught:
        verify_document(resealed(proof, partial(put, place=place)))
    named = "confidence" if place[0] == "confidence_given" else str(place[0])
    assert caught.value.place.startswith(named)


def test_the_reason_names_what_stands_there_and_what_follows() -> None:
    proof = debate_proof(parse_debate(EXAMPLE.read_bytes()))
    assert (proof.supporting_agents, proof.agreement_ratio) == (["ada", "eve"], 2 / 3)
    cases = {
        ("supporting_agents", 1): 'supporting_agents[1]: is "evex", "eve" follows from the votes',
        ("supporting_agents",): 'supporting_agents[1]: is missing, "eve" follows from the votes',
        ("confidence",): f"confidence: is 0.5, {proof.confidence!r} follows from the votes",
        ("agreement_ratio",): f"agreement_ratio: is 0.5, {2 / 3!r} follows",
        ("has_strong_consensus",): "has_strong_consensus: is true, false follows",
        ("partial_consensus", 0, "dissenting_agents"): 'partial_consensus[0].dissenting_agents[0]: is missing, "ben"',
        ("dissents", 0, "dissent_type"): 'dissents[0].dissent_type: is "partialx", must be full, partial or procedural',
    }
    for place, told in cases.items():
        with pytest.raises(TouchedError) as caught:
            verify_document(resealed(proof, partial(put, place=place)))
        assert f"{caught.value.place}: {caught.value.fault}".startswith(told)


def test_what_another_producers_proof_lacks_is_said_and_counted() -> None:
    builder = ConsensusBuilder("d", "t")
    proof = builder.build("f", 0.9, True, "s")
    proof.supporting_agents = ["b", "a"]
    found = verify_document(document_bytes(seal(proof, FORGER))).warnings
    assert [(one.place, one.level) for one in found] == [("supporting_agents", "unknown"), ("confidence", "unknown")]
    assert found[1].what == "0.9 was given and cannot be recomputed: the votes give 0.0"
    for agent in ("a", "b"):
        builder.record_vote(agent, "agree", 0.9, "r")
    voted = builder.build("f", None, True, "s")
    voted.supporting_agents = ["b", "a"]
    assert verify_document(document_bytes(seal(voted, FORGER))).warnings == ()
    voted.votes.append(voted.votes[0])
    found = verify_document(document_bytes(seal(voted, FORGER))).warnings
    assert [(one.place, one.level) for one in found] == [("votes[2].agent", "unknown")]


def test_a_debate_of_ours_must_have_what_is_needed() -> None:
    builder = ConsensusBuilder("d", "t", metadata={"kind": "debate"})
    builder.record_vote("a", "agree", 0.9, "r")
    builder.record_vote("b", "agree", 0.9, "r")
    proof = builder.build("f", None, True, "s")
    proof.supporting_agents = ["b", "a"]
    with pytest.raises(TouchedError, match=r"supporting_agents\[0\]"):
        verify_document(document_bytes(seal(proof, FORGER)))
    proof.votes = []
    with pytest.raises(TouchedError, match="supporting_agents: cannot be recomputed"):
        verify_document(document_bytes(seal(proof, FORGER)))


def test_other_types_of_dissent_are_warned_of_in_proofs_of_others() -> None:
    builder = ConsensusBuilder("d", "t")
    builder.record_dissent("a", "final", ["r"], "<b>aesthetic</b>")
    found = verify_document(document_bytes(seal(builder.build("f", None, False, "s"), FORGER))).warnings
    assert [(one.place, one.level) for one in found] == [("dissents[0].dissent_type", "odd")]


def test_evidence_that_claim_and_chain_tell_differently_is_found_though_all_is_signed_anew() -> None:
    proof = debate_proof(parse_debate(EXAMPLE.read_bytes()))
    with pytest.raises(TouchedError, match=r"claims\[0\].supporting_evidence\[0\].content: is not what the evidence"):
        verify_document(resealed(proof, lambda document: put(document, ("evidence_chain", 0, "content"))))
