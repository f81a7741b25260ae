"""Properties of the consensus score that hold for every group (SPEC 3, 4)."""

import itertools
import math
import random

import msgspec
import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from strategies import findings, groups, sssas

from validator.protocol.findings import package_of
from validator.protocol.sssa import Finding, Sssa, Verdict
from validator.scoring import Member, claims_of, finding_key, score_members
from validator.scoring.v1.claims import group_verdict
from validator.scoring.v1.consensus import pairwise_agreement


@given(groups())
def test_every_component_and_score_stays_in_the_unit_interval(members: list[Member]) -> None:
    _, scores = score_members(V1, members)
    for score in scores:
        values = [score.consensus, score.with_primaries, score.with_auditors]
        if score.components is not None:
            values += msgspec.structs.astuple(score.components)
        assert all(0 <= value <= 1 + 1e-12 for value in values if value is not None)


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_of_members_never_changes_a_result(members: list[Member], rng: random.Random) -> None:
    shuffled = members[:]
    rng.shuffle(shuffled)
    group, scores = score_members(V1, members)
    other_group, other_scores = score_members(V1, shuffled)
    by_hotkey = {m.hotkey: s for m, s in zip(shuffled, other_scores, strict=True)}
    assert group == other_group
    assert all(by_hotkey[m.hotkey] == s for m, s in zip(members, scores, strict=True))


@given(sssas, st.integers(3, 5))
def test_identical_answers_score_one(sssa: Sssa, many: int) -> None:
    members = [Member(f"hk{i}", "primary" if i < 3 else "auditor", claims_of(sssa)) for i in range(many)]
    _, scores = score_members(V1, members)
    for score in scores:
        assert math.isclose(score.consensus, 1, abs_tol=1e-12)
        assert score.with_primaries is not None
        assert math.isclose(score.with_primaries, 1, abs_tol=1e-12)


@given(groups(largest=2))
def test_below_three_valid_answers_consensus_is_off(members: list[Member]) -> None:
    group, scores = score_members(V1, members)
    assert group is None
    assert all(score.consensus == 1.0 and score.components is None for score in scores)


@given(sssas, sssas)
def test_pairwise_agreement_is_the_group_score_against_one(a: Sssa, b: Sssa) -> None:
    alone = pairwise_agreement(V1, claims_of(a), claims_of(b))
    _, scores = score_members(V1, [Member("a", "primary", claims_of(a)), Member("b", "primary", claims_of(b))])
    assert scores[0].with_primaries == alone


@given(findings, st.from_regex(r"\A[A-Za-z0-9_.\-]{1,64}\Z"))
def test_a_key_never_depends_on_the_span_prefix_the_id_or_the_words(finding: Finding, span: str) -> None:
    path = finding.evidence_ref.rpartition("::")[2]
    bare = msgspec.structs.replace(finding, evidence_ref=path, id="other", description="other")
    prefixed = msgspec.structs.replace(finding, evidence_ref=f"{span}::{path}")
    assert finding_key(bare) == finding_key(prefixed) == finding_key(finding)


@pytest.mark.parametrize(
    ("target", "package"),
    [
        ("pkg:npm/%40scope/pkg@1.0?x=1#y", "@scope/pkg"),
        ("pkg:npm/@scope/pkg@1.0", "@scope/pkg"),
        ("pkg:npm/@scope/pkg", "@scope/pkg"),
        ("pkg:npm//@scope/pkg@1.0", "@scope/pkg"),
        ("pkg://npm/@scope/pkg@1.0", "@scope/pkg"),
        ("pkg:pypi/Zope_.Interface", "zope-interface"),
        ("@scope/pkg@1.0", "@scope/pkg"),
        ("requests@2.19.0", "requests"),
        ("pkg:", "pkg:"),
        ("@", "@"),
    ],
)
def test_packages_are_named_alike_however_they_are_spelled(target: str, package: str) -> None:
    assert package_of(target) == package


def test_verdict_ties_go_to_the_more_severe() -> None:
    order: tuple[Verdict, ...] = ("BLOCK", "REVIEW", "ALLOW")
    for a, b in itertools.combinations(order, 2):
        assert group_verdict([b, a]) == group_verdict([a, b]) == a
    assert group_verdict(["ALLOW", "ALLOW", "BLOCK"]) == "ALLOW"
