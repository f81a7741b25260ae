"""Boundary values of scoring rules (SPEC 5 to 10)."""

import math

import pytest
from builders import V1, make_sssa, make_task
from msgspec import structs

from sssa.protocol.answer import Role
from sssa.protocol.results import Checks, Submission
from sssa.protocol.skill_types import ASSESSED_TYPES, BASE_TRACES, SkillType
from sssa.protocol.task import Truth
from sssa.scoring import AnswerFacts, Version20, version
from sssa.scoring.v1.emission import tier
from sssa.scoring.v1.quality import quality, quality_axes
from sssa.scoring.v1.reputation import event_of_consensus
from sssa.scoring.v1.semantics import reference_signatures
from sssa.scoring.v2.tally_round import epsilon_of

RAG = SkillType.RAG_KNOWLEDGE


@pytest.mark.parametrize("skill_type", ASSESSED_TYPES)
@pytest.mark.parametrize(
    ("multiple", "below", "reached"), [(1.0, 0.5, 1.0), (1.125, 1.0, 1.4), (1.5, 1.4, 2.0)], ids=str
)
def test_a_tier_is_reached_at_its_bound(skill_type: SkillType, multiple: float, below: float, reached: float) -> None:
    bound = multiple * V1.rules.types[skill_type].baseline
    assert (tier(V1, skill_type, math.nextafter(bound, 0.0)), tier(V1, skill_type, bound)) == (below, reached)


@pytest.mark.parametrize(("seen_by", "primaries", "counts"), [(1, 2, False), (2, 3, True), (2, 4, False), (3, 4, True)])
def test_half_of_the_primaries_are_no_majority(seen_by: int, primaries: int, counts: bool) -> None:
    seen, unseen = frozenset({b"one"}), frozenset[bytes]()
    traces = [dict.fromkeys(BASE_TRACES, seen if i < seen_by else unseen) for i in range(primaries)]
    reference = reference_signatures(V1.rules.quality.min_witnesses, traces)
    assert reference == dict.fromkeys(BASE_TRACES, seen if counts else unseen)


def test_evidence_at_the_floor_still_counts() -> None:
    floor = V1.rules.quality.floor
    at, below = (quality(V1, RAG, {"alpha": 1.0}, each) for each in (floor, math.nextafter(floor, 0.0)))
    assert at > below == 0.0


@pytest.mark.parametrize(
    ("consensus", "event"),
    [
        (0.7, "consensus_high"),
        (math.nextafter(0.7, 0.0), None),
        (0.4, None),
        (math.nextafter(0.4, 0.0), "consensus_low"),
    ],
)
def test_a_consensus_on_a_bound_has_the_event_above_it(consensus: float, event: str | None) -> None:
    assert event_of_consensus(V1.rules.reputation, consensus) == event


@pytest.mark.parametrize(("role", "sigma"), [("primary", 0.5), ("auditor", None)])
def test_expected_commands_count_for_primaries_alone(role: Role, sigma: float | None) -> None:
    facts = AnswerFacts(
        skill_type=SkillType.EXECUTABLE_SCRIPT,
        role=role,
        window=(0, 10),
        t=1,
        epoch=0,
        verdict="BLOCK",
        risk_score=0.5,
        findings=(),
        rules=(),
        manifest_sha256=None,
        shell_commands=("ls",),
        truth=Truth("BLOCK", None, None, None, ("ls", "curl"), None, None, None),
        provenance="curated",
        checks=Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None),
        semantic_subset=None,
        consensus=1.0,
    )
    assert quality_axes(V1, facts).get("sigma") == sigma


@pytest.mark.parametrize(
    ("role", "manifest", "epsilon"),
    [
        ("primary", None, 0.6 / 0.7),
        ("auditor", None, 1.0),
        ("primary", "ab" * 32, 0.6 / 0.9),
        ("auditor", "ab" * 32, 0.5 / 0.7),
        ("auditor", "cd" * 32, 1.0),
    ],
)
def test_under_2_0_0_the_truth_adds_checks_to_the_evidence(role: Role, manifest: str | None, epsilon: float) -> None:
    known = Truth("BLOCK", None, None, None, ("ls", "curl"), manifest, None, None)
    sssa = make_sssa(make_task())
    shown = structs.replace(sssa, evidence=structs.replace(sssa.evidence, manifest_sha256="cd" * 32))
    checks = Checks(probes=True, traces=None, manifest_digest=None, evidence_resolves=True, canary=None)
    answer = Submission("t1", "a", role, 5.0, shown, "", checks, shell_commands=("ls",))
    by = version("2.0.0")
    assert isinstance(by, Version20)
    assert epsilon_of(by, answer, known) == pytest.approx(epsilon)
