"""Keys, claims, components and consensus, compared with their plain forms bit for bit (SPEC 3, 4)."""

from itertools import combinations, permutations

import msgspec
import pytest
from builders import V1, make_sssa, make_task
from hypothesis import given
from hypothesis import strategies as st
from plain_forms import components, evidence_form, score
from strategies import findings, groups, sssas

from sssa.protocol.arithmetic import mean
from sssa.protocol.findings import package_of
from sssa.protocol.results import Checks, Submission
from sssa.protocol.round import GroupPlan
from sssa.protocol.sssa import (
    EvidenceRefError,
    Finding,
    Sssa,
    Verdict,
    check_sssa,
    ordinary_form,
    parse_evidence_ref,
)
from sssa.protocol.strict_json import SchemaError
from sssa.scoring import Member, claims_of, compare_answers, consensus_parts, finding_key, key_parts, score_members
from sssa.scoring.v1.claims import group_verdict
from sssa.scoring.v1.consensus import consensus_score
from sssa.scoring.v1.keys import FindingKeys, normalised_evidence

pieces = st.sampled_from(
    ["a", "b.py", "..", ".", "/", "::", ":", "#L", "#L1", "-L", "-L9", "#", "0", "7", "10", "x" * 64, "9" * 9, "1" * 10]
) | st.sampled_from(["/", "::", "\\", "é", "%", "|", " ", "\n", "٣"])
references = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=12)


@given(references)
def test_a_reference_is_read_as_its_grammar_says(text: str) -> None:
    try:
        expected = evidence_form(text)
    except EvidenceRefError:
        with pytest.raises(EvidenceRefError):
            parse_evidence_ref(text)
        assert ordinary_form(text) is None
        return
    assert str(parse_evidence_ref(text)) == expected
    assert ordinary_form(text) in {None, expected}
    if ordinary_form(text) is not None:
        assert normalised_evidence(text) == expected


@pytest.mark.parametrize("text", ["a.py", "s.1::src/a-b/c_d.py#L3", "s::a#L3-L12", "a/b#L999999999", "-/_x..y"])
def test_the_usual_references_need_no_parsing(text: str) -> None:
    assert ordinary_form(text) == evidence_form(text)


@pytest.mark.parametrize(
    "text", ["a#L0", "a#L01", "a#L1-L0", "a#L9-L10x", "a#L12-L3", "a#L1234567890", "a::b::c", "/a"]
)
def test_what_is_outside_the_grammar_is_no_usual_reference(text: str) -> None:
    assert ordinary_form(text) is None


@given(references)
def test_an_attestation_is_refused_for_a_reference_as_soon_as_the_grammar_refuses_it(text: str) -> None:
    finding = Finding("f", "other", "low", "d", text, (), "t")
    sssa = make_sssa(make_task(), (finding,))
    try:
        evidence_form(text)
    except EvidenceRefError:
        with pytest.raises(SchemaError, match="evidence_ref"):
            check_sssa(sssa)
    else:
        check_sssa(sssa)


@given(st.lists(findings, max_size=12))
def test_keys_that_are_kept_are_those_that_are_computed(of_a_group: list[Finding]) -> None:
    keys = FindingKeys()
    assert [keys.key(one) for one in of_a_group * 2] == [finding_key(one) for one in of_a_group * 2]
    assert [keys.parts(one) for one in of_a_group * 2] == [key_parts(one) for one in of_a_group * 2]


@given(st.lists(st.sampled_from(["Zope.Interface", "zope_interface", "zope--Interface", "requests"]), max_size=8))
def test_packages_that_are_kept_are_those_that_are_computed(names: list[str]) -> None:
    keys = FindingKeys()
    assert {keys.package(name) for name in names} <= {"zope-interface", "requests"}
    assert [keys.package(name) for name in names] == [FindingKeys().package(name) for name in names]


@given(groups())
def test_components_and_scores_are_those_of_sets(members: list[Member]) -> None:
    group, scores = score_members(V1, members)
    for member, found in zip(members, scores, strict=True):
        expected = components(member.claims, group) if group else None
        assert found.components == expected
        assert found.consensus == (score(expected) if expected else 1.0)
        others = [one for one in members if one is not member]
        for role, told in (("primary", found.with_primaries), ("auditor", found.with_auditors)):
            pairs = [score(components(member.claims, one.claims)) for one in others if one.role == role]
            assert told == (mean(pairs) if pairs else None)


@given(groups(2))
def test_a_score_is_the_sum_of_the_parts_that_are_shown(members: list[Member]) -> None:
    for mine, theirs in permutations(members, 2):
        parts = components(mine.claims, theirs.claims)
        total = 0.0
        for part in consensus_parts(V1, parts):
            total += part.contribution
        assert consensus_score(V1, parts) == total


@given(st.lists(sssas, min_size=1, max_size=5))
def test_what_members_share_changes_nothing_about_what_each_claims(attested: list[Sssa]) -> None:
    hotkeys = tuple(f"hk{i}" for i in range(len(attested)))
    plan = GroupPlan("t1", "full", hotkeys[:3], hotkeys[3:], (), (), {})
    checks = Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None)
    submissions = [
        Submission("t1", hotkey, role, 5.0, sssa, "", checks)
        for sssa, (hotkey, role) in zip(attested, plan.members, strict=True)
    ]
    compared = compare_answers(V1, make_task(), plan, submissions, FindingKeys())
    assert [member.claims for member in compared.members] == [claims_of(sssa) for sssa in attested]


def test_an_attestation_that_says_what_another_says_in_other_words_shares_its_key() -> None:
    one = Finding("f", "dependency_cve", "low", "d", "a.py", ("CVE-2020-14343",), "pkg:pypi/PyYAML@5.3")
    other = msgspec.structs.replace(
        one, evidence_ref="s::b/./c.py", cve_ids=("cve-2020-14343",), target_pattern="pyyaml"
    )
    keys = FindingKeys()
    assert keys.key(one) == keys.key(other) == finding_key(one)


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
    for a, b in combinations(order, 2):
        assert group_verdict([b, a]) == group_verdict([a, b]) == a
    assert group_verdict(["ALLOW", "ALLOW", "BLOCK"]) == "ALLOW"
