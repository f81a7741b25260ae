"""A round's documents: values of every kind come back from their bytes, and nothing else is one."""

import re
from typing import Any

import msgspec
import pytest
from builders import V1, make_task
from hypothesis import given
from hypothesis import strategies as st
from random_rounds import returned
from workflow_builders import REFERENCES, make_workflow

from sssa.protocol.answer import CanarySpec
from sssa.protocol.bundles import IndexEntry
from sssa.protocol.canonical import canonical_bytes, canonical_plain
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Submission, WorkflowSubmission, packed
from sssa.protocol.round import (
    AssessedMember,
    AssessmentTask,
    Components,
    Emission,
    FailedMember,
    GoalTask,
    MemberOutcome,
    RanMember,
    RoundInput,
    RoundOutcome,
    RoundTask,
    WorkflowOutcome,
)
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.task import KnownFinding, Truth, Windows
from sssa.protocol.workflow_plan import goal_sha256
from sssa.protocol.workflow_run import WorkflowRun, WorkflowScore
from sssa.protocol.workflow_task import task_sha256
from sssa.scoring import score_round

TEXTS = st.text(max_size=5)
NUMBERS = st.floats(0, 1)
COMMON: dict[str, Any] = {
    "task_id": TEXTS,
    "slot": st.integers(0, 3),
    "source_sha256": TEXTS,
    "bundle_sha256": TEXTS,
    "nonce": TEXTS,
    "windows": st.builds(Windows, st.just((1, 10)), st.just((0, 5))),
}
FINDINGS = st.builds(KnownFinding, st.just("other"), st.just("low"), TEXTS, st.just(()), TEXTS, st.just("secret/key"))
TASKS: st.SearchStrategy[RoundTask] = st.one_of(
    st.builds(
        AssessmentTask,
        **COMMON,
        skill_type=st.sampled_from(ASSESSED_TYPES),
        provenance=st.sampled_from(["curated", "canary", "none"]),
        truth=st.none()
        | st.builds(
            Truth,
            st.just("BLOCK"),
            *(st.none() for _ in range(6)),
            st.none() | NUMBERS,
            st.none() | st.just(msgspec.UNSET) | st.lists(FINDINGS, max_size=2).map(tuple),
        ),
        canary=st.none() | st.builds(CanarySpec, TEXTS),
        index=st.lists(st.builds(IndexEntry, TEXTS, st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple),
    ),
    st.builds(
        GoalTask,
        **COMMON,
        skill_type=st.just(SkillType.WORKFLOW),
        goal=st.sampled_from([make_workflow(kind) for kind in REFERENCES]),
    ),
)
RUNS = st.builds(
    WorkflowOutcome,
    st.builds(
        WorkflowRun, **{**dict.fromkeys(WorkflowRun.__struct_fields__, st.integers(1, 4)), "output_quality": NUMBERS}
    ),
    st.builds(WorkflowScore, *(NUMBERS for _ in WorkflowScore.__struct_fields__)),
)
DISPATCH: dict[str, Any] = {
    "task_id": TEXTS,
    "hotkey": TEXTS,
    "role": st.sampled_from(["primary", "auditor"]),
    "consensus": NUMBERS,
    "window_entry": st.none() | NUMBERS,
}
GATES = [reason for reason in Reason if reason.gate]
MEMBERS: st.SearchStrategy[MemberOutcome] = st.one_of(
    st.builds(FailedMember, **DISPATCH, reason=st.sampled_from(GATES)),
    st.builds(
        AssessedMember,
        **DISPATCH,
        reason=st.sampled_from([Reason.ACCEPTED, Reason.ACCEPTED_EARLY, Reason.VOID_NO_VERDICT]),
        components=st.none() | st.builds(Components, *(NUMBERS for _ in Components.__struct_fields__)),
        agreement_with_primaries=st.none() | NUMBERS,
        agreement_with_auditors=st.none() | NUMBERS,
        emission=st.none() | st.builds(Emission, st.just({"alpha": 0.5}), *(NUMBERS for _ in range(9))),
    ),
    st.builds(RanMember, **DISPATCH, reason=st.just(Reason.ACCEPTED), workflow=RUNS),
    st.builds(RanMember, **DISPATCH, reason=st.just(Reason.WORKFLOW_DEFERRED), workflow=st.none()),
)


@given(TASKS)
def test_a_task_comes_back_from_its_bytes(task: RoundTask) -> None:
    written = canonical_bytes(task)
    assert msgspec.json.decode(written, type=RoundTask) == task
    named = isinstance(task, AssessmentTask) and task.truth is not None and task.truth.findings is not msgspec.UNSET
    assert (b'"findings"' in written) == named  # a truth without them has no such field


@given(MEMBERS)
def test_an_outcome_of_a_dispatch_comes_back_from_its_bytes(member: MemberOutcome) -> None:
    assert msgspec.json.decode(canonical_bytes(member), type=MemberOutcome) == member


@given(st.integers(0, 10**9))
def test_a_round_comes_back_from_its_bytes(number: int) -> None:
    frozen, plan, results, _ = returned(number, V1)
    for value in (frozen, plan, score_round(V1, frozen, plan, results)):
        written = canonical_bytes(value)
        assert written == canonical_plain(msgspec.to_builtins(value))
        assert msgspec.json.decode(written, type=type(value)) == value


TRUTH = Truth("BLOCK", None, None, 0.5, None, None, None, None)
ASSESSMENT = make_task(SkillType.RAG_KNOWLEDGE, canary="a.py", provenance="curated", truth=TRUTH)
GOAL = GoalTask(
    **{name: getattr(ASSESSMENT, name) for name in COMMON}, skill_type=SkillType.WORKFLOW, goal=make_workflow()
)


@pytest.mark.parametrize(
    ("task", "field", "value", "message"),
    [
        (GOAL, "kind", "assessment", "unknown field `goal`"),
        (GOAL, "kind", "riddle", "Invalid value 'riddle' - at `$.tasks[1].kind`"),
        (GOAL, "skill_type", "rag_knowledge", "`skill_type` must be workflow - at `$.tasks[1]`"),
        (ASSESSMENT, "skill_type", "workflow", "`skill_type` must be one of rag_knowledge"),
        *((GOAL, field, None, f"unknown field `{field}`") for field in ("truth", "canary", "index", "provenance")),
        (ASSESSMENT, "goal", None, "unknown field `goal` - at `$.tasks[1]`"),
    ],
)
def test_a_task_with_a_field_of_another_kind_is_refused(task: RoundTask, field: str, value: Any, message: str) -> None:
    plain = msgspec.to_builtins(msgspec.structs.replace(returned(0, V1)[0], tasks=(GOAL, task)))
    plain["tasks"][1][field] = value
    with pytest.raises(msgspec.ValidationError, match=re.escape(message)):
        msgspec.json.decode(msgspec.json.encode(plain), type=RoundInput)


VALID = AssessedMember("t", "hk", "primary", Reason.ACCEPTED, 1.0, 1.0, None, 1.0, 1.0, None)
RAN = RanMember("t", "hk", "primary", Reason.WORKFLOW_DEFERRED, 1.0, None, None)
FAILED = FailedMember("t", "hk", "primary", Reason.DEADLINE_LATE, 0.0, 0.0)


@pytest.mark.parametrize("field", ["components", "agreement_with_primaries", "emission"])
@pytest.mark.parametrize("member", [RAN, FAILED], ids=["ran", "failed"])
def test_a_member_with_a_field_of_another_kind_is_refused(member: MemberOutcome, field: str) -> None:
    plain = msgspec.to_builtins(msgspec.structs.replace(score_round(V1, *returned(0, V1)[:3]), members=(VALID, member)))
    plain["members"][1][field] = None
    with pytest.raises(msgspec.ValidationError, match=rf"unknown field `{field}` - at `\$.members\[1\]`"):
        msgspec.json.decode(msgspec.json.encode(plain), type=RoundOutcome)


def test_every_answer_is_the_same_once_it_was_bytes() -> None:
    every = (returned(number, V1)[2] for number in range(100))
    results = next(one for one in every if {*map(type, one.passed)} == {Submission, WorkflowSubmission})
    for answer in results.passed:
        kept = packed(answer)
        assert kept.unpacked() == answer
        assert (kept.task_id, kept.hotkey, kept.seconds, kept.sha256) == (
            answer.task_id,
            answer.hotkey,
            answer.seconds,
            answer.sha256,
        )
        assert kept.signed == canonical_bytes(answer.signed)


def test_a_goal_is_named_by_the_hashes_of_what_the_task_holds() -> None:
    named = msgspec.structs.replace(GOAL, source_sha256=task_sha256(GOAL.goal), bundle_sha256=goal_sha256(GOAL.goal))
    assert named.misnamed() is None
    for field in ("source_sha256", "bundle_sha256"):
        misnamed = msgspec.structs.replace(named, **{field: "0" * 64}).misnamed()
        assert misnamed is not None
        assert misnamed[0] == field
    assert ASSESSMENT.misnamed() is None
