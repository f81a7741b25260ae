"""The stored form of a round's documents: the same bytes as ever, and the values that they stand for."""

from typing import Any

import msgspec
import pytest
from builders import V1, make_task
from hypothesis import given
from hypothesis import strategies as st
from random_rounds import returned
from workflow_builders import REFERENCES, make_workflow

from validator.protocol.answer import CanarySpec
from validator.protocol.bundles import IndexEntry
from validator.protocol.canonical import canonical_bytes
from validator.protocol.reasons import Reason
from validator.protocol.round import (
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
    Submission,
    WorkflowOutcome,
    WorkflowSubmission,
    packed,
)
from validator.protocol.round.forms import (
    FormError,
    InputForm,
    MemberForm,
    OutcomeForm,
    ResultsForm,
    TaskForm,
    input_form,
    input_of,
    member_form,
    member_of,
    outcome_form,
    outcome_of,
    read_input,
    read_outcome,
    results_form,
    results_of,
    task_form,
    task_of,
)
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.task import KnownFinding, Truth, Windows
from validator.protocol.workflow_plan import goal_sha256
from validator.protocol.workflow_score import WorkflowRun, WorkflowScore
from validator.protocol.workflow_task import task_sha256

WORDS = st.text(max_size=5)
NUMBERS = st.floats(0, 1)
COMMON: dict[str, Any] = {
    "task_id": WORDS,
    "slot": st.integers(0, 3),
    "source_sha256": WORDS,
    "bundle_sha256": WORDS,
    "nonce": WORDS,
    "windows": st.builds(Windows, st.just((1, 10)), st.just((0, 5))),
}
FINDINGS = st.builds(KnownFinding, st.just("other"), st.just("low"), WORDS, st.just(()), WORDS, st.just("secret/key"))
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
        canary=st.none() | st.builds(CanarySpec, WORDS),
        index=st.lists(st.builds(IndexEntry, WORDS, st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple),
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
    "task_id": WORDS,
    "hotkey": WORDS,
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
def test_a_task_comes_back_from_its_form(task: RoundTask) -> None:
    written = canonical_bytes(task_form(task))
    assert task_of(msgspec.json.decode(written, type=TaskForm)) == task
    named = isinstance(task, AssessmentTask) and task.truth is not None and task.truth.findings is not msgspec.UNSET
    assert (b'"findings"' in written) == named  # a truth from before them is written as it was


@given(MEMBERS)
def test_what_a_dispatch_came_to_comes_back_from_its_form(member: MemberOutcome) -> None:
    assert member_of(msgspec.json.decode(canonical_bytes(member_form(member)), type=MemberForm)) == member


@given(st.integers(0, 10**9))
def test_a_round_comes_back_from_its_forms(number: int) -> None:
    frozen, plan, results, _ = returned(number, V1)
    outcome = V1.score(frozen, plan, results)
    assert read_input(canonical_bytes(input_form(frozen))) == frozen
    assert read_outcome(canonical_bytes(outcome_form(outcome))) == outcome
    assert results_of(msgspec.json.decode(canonical_bytes(results_form(results)), type=ResultsForm)) == results


@pytest.mark.parametrize(("form", "value"), [(InputForm, RoundInput), (OutcomeForm, RoundOutcome)])
def test_a_form_has_the_fields_of_its_value_in_their_order(form: Any, value: Any) -> None:
    assert form.__struct_fields__ == value.__struct_fields__


def test_a_form_has_every_field_of_every_kind() -> None:
    assert set(TaskForm.__struct_fields__) == {*AssessmentTask.__struct_fields__, "workflow"}
    assert set(MemberForm.__struct_fields__) == {*AssessedMember.__struct_fields__, *RanMember.__struct_fields__}


TRUTH = Truth("BLOCK", None, None, 0.5, None, None, None, None)
ASSESSMENT = make_task(SkillType.RAG_KNOWLEDGE, canary="a.py", provenance="curated", truth=TRUTH)
GOAL = GoalTask(
    **{name: getattr(ASSESSMENT, name) for name in COMMON}, skill_type=SkillType.WORKFLOW, goal=make_workflow()
)


@pytest.mark.parametrize(
    ("task", "field", "value"),
    [
        (GOAL, "workflow", None),
        (ASSESSMENT, "workflow", make_workflow()),
        (ASSESSMENT, "skill_type", SkillType.WORKFLOW),
        (GOAL, "skill_type", SkillType.RAG_KNOWLEDGE),
        *((GOAL, field, getattr(ASSESSMENT, field)) for field in ("truth", "canary", "index")),
        (GOAL, "provenance", "none"),
    ],
)
def test_a_task_with_a_field_of_another_kind_is_refused(task: RoundTask, field: str, value: Any) -> None:
    frozen = returned(0, V1)[0]
    wrong = msgspec.structs.replace(task_form(task), **{field: value})
    named = "workflow" if field == "skill_type" else field
    with pytest.raises(FormError) as raised:
        input_of(msgspec.structs.replace(input_form(frozen), tasks=(task_form(GOAL), wrong)))
    assert raised.value.path == f"tasks[1].{named}"
    assert f"- at `$.tasks[1].{named}`" in str(raised.value)


EMISSION = Emission({"alpha": 1.0}, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
VALID = AssessedMember("t", "hk", "primary", Reason.ACCEPTED, 1.0, 1.0, Components(*[1.0] * 7), 1.0, 1.0, EMISSION)
RAN = RanMember("t", "hk", "primary", Reason.WORKFLOW_DEFERRED, 1.0, None, None)
FAILED = FailedMember("t", "hk", "primary", Reason.DEADLINE_LATE, 0.0, 0.0)


@pytest.mark.parametrize("field", ["components", "agreement_with_primaries", "emission"])
@pytest.mark.parametrize("member", [RAN, FAILED], ids=["ran", "failed"])
def test_a_member_with_a_field_of_another_kind_is_refused(member: MemberOutcome, field: str) -> None:
    outcome = V1.score(*returned(0, V1)[:3])
    wrong = msgspec.structs.replace(member_form(member), **{field: getattr(VALID, field)})
    with pytest.raises(FormError) as raised:
        outcome_of(msgspec.structs.replace(outcome_form(outcome), members=(member_form(VALID), wrong)))
    assert raised.value.path == f"members[1].{field}"


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
        told = msgspec.structs.replace(named, **{field: "0" * 64}).misnamed()
        assert told is not None
        assert told[0] == field
    assert ASSESSMENT.misnamed() is None
