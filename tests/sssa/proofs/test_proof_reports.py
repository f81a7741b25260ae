"""Records, builder and reports: the names debate systems use, ranges, and hostile text that shows as text."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sssa.proofs.builder import ConsensusBuilder
from sssa.proofs.consensus_proof import ConsensusProof, escaped
from sssa.proofs.records import Claim, Evidence, ProofError, UnknownClaimError, VoteType
from sssa.protocol.text import printable

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "# heading", "===", "---", "- item", "+ item", "1. one", "12) two", "> quote", "```\ncode\n```", "    indented",
    "<script>alert(1)</script>", "<!-- c -->", "[x](http://evil.example)", "![x](y)", "<http://evil.example>",
    "[x]: http://evil.example", "a | b | c", "|---|", "**bold** _it_ __b__ ~~s~~", "`code`", "&lt;&#35;",
    "line\n\n# two", "\u202eevil\u200b\x00\x1b[31m", "a\\", "\\`", "~~~", "*", "a\u2028b", "\t# tab", "$$x$$",
]  # fmt: skip


def hostile_proof(text: str) -> ConsensusProof:
    builder = ConsensusBuilder("d1", text)
    claim = builder.add_claim(text, text)
    builder.add_evidence(claim.claim_id, text, text, text)
    builder.add_evidence(claim.claim_id, text, text, text, supports=False)
    builder.record_vote(text, "conditional", 0.5, text, [text])
    builder.record_vote("b" + text, VoteType.DISAGREE, 0.5, text)
    builder.record_dissent(text, claim.claim_id, [text], text, text, 0.9, text)
    builder.record_tension(text, [text], [text], text, text)
    return builder.build(text, None, False, text)


def shape(markdown: str) -> list[tuple[str, list[str]]]:
    return [(token.type, [child.type for child in token.children or ()]) for token in MARKDOWN.parse(markdown)]


@given(st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1), st.text("\\`*_#[]()<>|~!-+.:1a \n\t&", min_size=1)))
@example("\u00a0x")
def test_hostile_text_never_changes_the_shape_of_a_report(text: str) -> None:
    if not escaped(text):
        text += "x"  # nothing visible renders as nothing
    assert shape(hostile_proof(text).to_markdown()) == shape(hostile_proof("harmless").to_markdown())


@given(st.one_of(st.sampled_from(HOSTILE), st.text("\\`*_#[]()<>|~!-+.:1a \n&", min_size=1)))
def test_escaped_text_renders_as_the_text_itself(text: str) -> None:
    tokens = MARKDOWN.parse(escaped(text))
    shown = "".join(child.content for token in tokens for child in token.children or ())
    line = " ".join(text.split())
    assert shown == printable(line, len(line))


def test_web_addresses_are_no_links_where_bare_ones_are() -> None:
    assert escaped("see http://x.example and www.x.example") == r"see http\://x.example and www\.x.example"


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(list(VoteType)), st.floats(0, 1), st.floats(0, 1e6)))
)
def test_ratio_confidence_and_strength_stay_in_range(votes: list[tuple[str, VoteType, float, float]]) -> None:
    builder = ConsensusBuilder("d", "t")
    for agent, vote, confidence, weight in votes:
        builder.record_vote(agent, vote, confidence, "r", weight=weight)
    proof = builder.build("f", None, True, "s")
    assert 0 <= proof.confidence <= 1
    assert 0 <= proof.agreement_ratio <= 1
    assert {vote.agent: (vote.vote, vote.confidence) for vote in proof.votes} == {
        agent: (vote, confidence) for agent, vote, confidence, _ in votes
    }
    assert proof.supporting_agents == sorted(set(proof.supporting_agents) - set(proof.dissenting_agents))


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1))))
def test_net_strength_is_between_minus_one_and_one(items: list[tuple[bool, float]]) -> None:
    builder = ConsensusBuilder("d", "t")
    claim = builder.add_claim("s", "a")
    for supports, strength in items:
        builder.add_evidence(claim.claim_id, "x", "c", supports=supports, strength=strength)
    assert -1 <= claim.net_evidence_strength <= 1


def test_the_builder_counts_ids_and_attaches_evidence() -> None:
    builder = ConsensusBuilder("d1", "task")
    first, second = builder.add_claim("s", "a"), builder.add_claim("t", "b", parent_claim_id="d1-claim-1")
    item = builder.add_evidence(first.claim_id, "src", "c", "data", False, 0.9)
    loose = builder.add_evidence(None, "src", "c")
    tension = builder.record_tension("d", ["a"], ["o"], "i")
    assert (first.claim_id, second.claim_id, second.parent_claim_id) == ("d1-claim-1", "d1-claim-2", "d1-claim-1")
    assert (item.evidence_id, loose.evidence_id, tension.tension_id) == ("d1-ev-1", "d1-ev-2", "d1-tension-1")
    assert (first.supporting_evidence, first.refuting_evidence) == ([], [item])
    proof = builder.build("final", None, True, "summary", rounds=2)
    assert (proof.proof_id, proof.rounds_to_consensus, proof.confidence) == ("proof-d1", 2, 0.0)
    builder.add_evidence(first.claim_id, "src", "later")
    assert len(proof.evidence_chain) == 2
    assert not proof.claims[0].supporting_evidence


def test_the_checksum_is_never_cached() -> None:
    builder = ConsensusBuilder("d", "t")
    builder.record_vote("a", "agree", 0.9, "r")
    proof = builder.build("f", 0.9, True, "s")
    before = proof.checksum
    assert proof.has_strong_consensus
    proof.votes[0].confidence = 0.8
    assert (len(before), proof.checksum == before) == (16, False)
    assert json.loads(proof.to_json())["checksum"] == proof.checksum


def test_each_voter_has_its_last_confidence_and_the_sections_are_those_of_the_report() -> None:
    builder = ConsensusBuilder("d", "t")
    builder.record_vote("ada", "agree", 0.4, "")
    builder.record_vote("ada", "disagree", 0.7, "")
    builder.record_vote("ben", "agree", 0.9, "")
    builder.record_dissent("ada", "final", ["*no*"], alternative="other")
    builder.record_tension("a [link](x)", ["ada", "ben"], ["one", "two"], "much")
    proof = builder.build("f", None, True, "s")
    assert proof.get_confidence_breakdown() == {"ada": 0.7, "ben": 0.9}
    for section, shown in ((proof.get_dissent_summary(), "\\*no\\*"), (proof.get_tension_summary(), "\\[link")):
        assert shown in section
        assert section in proof.to_markdown()
    assert json.loads(proof.to_json()) == proof.to_dict() == json.loads(proof.to_json(indent=None))


@pytest.mark.parametrize(("ratio", "strong"), [((4, 1), False), ((5, 1), True)])
def test_strong_consensus_is_strict(ratio: tuple[int, int], strong: bool) -> None:
    builder = ConsensusBuilder("d", "t")
    for i in range(sum(ratio)):
        builder.record_vote(f"a{i}", "agree" if i < ratio[0] else "disagree", 0.9, "r")
    assert builder.build("f", 0.71, True, "s").has_strong_consensus is strong
    assert not builder.build("f", 0.7, True, "s").has_strong_consensus
    assert not builder.build("f", 0.9, False, "s").has_strong_consensus


def test_empty_summaries_and_risk_correlation() -> None:
    proof = ConsensusBuilder("d", "t").build("f", None, False, "s")
    assert proof.get_dissent_summary() == "No dissenting views recorded."
    assert proof.get_tension_summary() == "No unresolved tensions."
    assert proof.get_risk_correlation() == {"unanimous": [], "majority": [], "contested": []}
    assert "### Dissenting Agents\n\n*None*" in proof.to_markdown()


@pytest.mark.parametrize(("share", "group"), [((9, 1), "unanimous"), ((6, 4), "majority"), ((59, 41), "contested")])
def test_the_edges_of_correlation(share: tuple[int, int], group: str) -> None:
    items = [Evidence(f"e{i}", "s", "c", "data", i < share[0], 0.1) for i in range(sum(share))]
    proof = ConsensusBuilder("d", "t").build("f", None, False, "s")
    proof.claims = [Claim("c", "statement", "a", 0.5, items[: share[0]], items[share[0] :]), Claim("n", "none", "a", 0)]
    assert proof.get_risk_correlation()[group] == ["statement"]
    assert sum(map(len, proof.get_risk_correlation().values())) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1, 1.1, "0.5", None, True])
def test_scores_out_of_range_are_refused(bad: Any) -> None:
    builder = ConsensusBuilder("d", "t")
    with pytest.raises(ProofError, match="confidence must be"):
        builder.record_vote("a", VoteType.AGREE, bad, "r")
    with pytest.raises(ProofError, match="confidence must be"):
        builder.add_claim("s", "a", bad)
    with pytest.raises(ProofError, match=r"metadata\.x"):
        builder.add_evidence(None, "s", "c", metadata={"x": float("nan")})


def test_unknown_claims_and_votes_are_refused() -> None:
    builder = ConsensusBuilder("d", "t")
    with pytest.raises(UnknownClaimError, match="nope"):
        builder.add_evidence("nope", "s", "c")
    with pytest.raises(UnknownClaimError, match="nope"):
        builder.record_dissent("a", "nope", ["r"])
    with pytest.raises(ProofError, match="agree, disagree"):
        builder.record_vote("a", "perhaps", 0.5, "r")
    with pytest.raises(ProofError, match="lone surrogate"):
        builder.add_claim("\ud800", "a")


def test_values_of_another_type_are_refused_where_they_come_in() -> None:
    builder: Any = ConsensusBuilder("d", "t")  # strangers' programs are not checked for types
    claim = builder.add_claim("s", "a")
    with pytest.raises(ProofError, match="supports_claim must be true or false"):
        builder.add_evidence(claim.claim_id, "s", "c", supports="no")
    with pytest.raises(ProofError, match="consensus_reached must be true or false"):
        builder.build("f", None, "no", "r")
    for bad in (float("nan"), "1", -1, True, 2**53):
        with pytest.raises(ProofError, match="rounds_to_consensus must be"):
            builder.build("f", None, True, "r", bad)
        with pytest.raises(ProofError, match="round_introduced must be"):
            builder.add_claim("s", "a", round_num=bad)
    with pytest.raises(ProofError, match="alternative_view must be a string"):
        builder.record_dissent("a", claim.claim_id, ["r"], alternative=0)
    with pytest.raises(ProofError, match="supporting_evidence must be a list"):
        Claim("c", "s", "a", 0.5, None)  # type: ignore[arg-type]
    with pytest.raises(ProofError, match=r"refuting_evidence\[0\] must hold Evidence"):
        Claim("c", "s", "a", 0.5, [], ["e"])  # type: ignore[list-item]
    assert builder.evidence == []


def test_claims_that_were_appended_by_hand_are_known() -> None:
    builder = ConsensusBuilder("d", "t")
    builder.claims.append(Claim("own", "s", "a", 0.5))
    builder.add_evidence("own", "s", "c")
    assert [item.source for item in builder.build("f", None, True, "r").claims[0].supporting_evidence] == ["s"]


@pytest.mark.parametrize(
    "debate_id", ["plain-1", "two words", "<b>*x*</b>", "[a](b)", "back`tick", " edge ", "ü\u202e"]
)
def test_ids_show_as_they_are(debate_id: str) -> None:
    line = ConsensusBuilder(debate_id, "t").build("f", None, True, "r").to_markdown().splitlines()[4]
    assert line.startswith("**Debate ID:** ")
    rendered = MarkdownIt("commonmark").parseInline(line)[0].children or []
    assert "".join(part.content for part in rendered) == f"Debate ID: {printable(debate_id.strip())}"
    assert (rendered[-1].type == "code_inline") == debate_id.isascii() & ("`" not in debate_id) & (debate_id[0] != " ")
