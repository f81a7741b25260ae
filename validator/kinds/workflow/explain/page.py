"""Explanation of one workflow task as a whole: the plan, the run step by step, and its worth (SPEC 12)."""

from datetime import datetime

from validator.kinds.explained.task import TaskExplanation, TaskFacts, explain_task
from validator.kinds.workflow.explain.run import (
    Measure,
    OutputQuality,
    Run,
    Worth,
    explain_measured,
    explain_output,
    explain_run,
    explain_worth,
)
from validator.kinds.workflow.gates import applying_gates
from validator.protocol.answer import Role
from validator.protocol.execution import WorkState
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.results import WorkflowSubmission
from validator.protocol.round import GoalTask, MemberOutcome, Mode, RanMember, RoundInput
from validator.protocol.sssa import Document
from validator.protocol.waiting_work import CodeCheck
from validator.protocol.workflow_run import CodeReport
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import Version, fill_run, measure


class JudgedLater(Document, frozen=True):
    """A check of a plan's code.

    Attributes:
        state: pending, running, done or inconclusive.
        attempts: tries that were begun.
        due_at: not tried before.
        reason, meaning: of the end, or of the last try; None before the first.
        report: what the tests and the linter found; this and the next three are None until it is done.
        quality: of the output, from the report.
        measured, worth: of the run with that quality.
        entry: what enters the score window, or entered it.
        entered_in: the round with which it did; None until one has.
    """

    check_id: str
    state: WorkState
    attempts: int
    due_at: datetime
    reason: Reason | None
    meaning: str | None
    detail: str | None
    report: CodeReport | None
    quality: float | None
    measured: tuple[Measure, ...] | None
    worth: Worth | None
    entry: float | None
    entered_in: int | None


def explain_later(
    version: Version, task: WorkflowTask, submission: WorkflowSubmission, check: CodeCheck
) -> JudgedLater:
    """Return the check, its score with the parts that make it; `version` is that of the answer's round."""
    found = None
    if check.report is not None:
        measured = measure(task, submission.plan, submission.run, 0.0)
        found = fill_run(version, measured, check.report)
    return JudgedLater(
        check_id=check.work_id,
        state=check.state,
        attempts=check.attempts,
        due_at=check.due_at,
        reason=check.reason,
        meaning=meaning_of(check.reason),
        detail=check.detail,
        report=check.report,
        quality=found.measured.output_quality if found else None,
        measured=explain_measured(found.measured) if found else None,
        worth=explain_worth(version, found) if found else None,
        entry=check.score,
        entered_in=check.entered_in,
    )


class PlannerLine(Document, frozen=True):
    """One member of the group; steps and quality only of plans that were run, quality None while it is deferred."""

    hotkey: str
    uid: int | None
    role: Role
    reason: Reason
    steps_completed: int | None
    steps: int | None
    quality: float | None
    entry: float | None


class PlannerGroup(Document, frozen=True):
    """Other planners of the same goal; plans are not compared with each other."""

    mode: Mode
    n_valid: int
    members: tuple[PlannerLine, ...]


class WorkflowExplanation(TaskExplanation, frozen=True, tag="workflow"):
    """A workflow task as one miner met it.

    Attributes:
        goal_sha256: what a plan is bound to; `goal` and `workflow_type` of the task.
        group: None for a void or skipped task.
        run: its plan and the run of it; None where a gate failed. The next three are None then, too.
        measured: values against their limits; None while the quality is deferred.
        worth: the parts of S; None while the quality is deferred.
        later: the result of its code after the round; None where nothing was deferred.
    """

    goal_sha256: str
    goal: str
    workflow_type: str
    group: PlannerGroup | None
    run: Run | None
    measured: tuple[Measure, ...] | None
    quality: OutputQuality | None
    worth: Worth | None
    later: JudgedLater | None


def explain_workflow(frozen: RoundInput, facts: TaskFacts[GoalTask], hotkey: str) -> WorkflowExplanation | None:
    """Return the task as `hotkey` met it, None if it was no candidate."""
    common = explain_task(frozen, facts, hotkey, applying_gates)
    if common is None:
        return None
    task = facts.task
    workflow = task.goal
    ran = (s for s in facts.results.answers(task.task_id, WorkflowSubmission) if s.hotkey == hotkey)
    submission, scored = next(ran, None), facts.member(hotkey)
    outcome = scored.workflow if isinstance(scored, RanMember) else None
    check = next((one for one in facts.checks if one.hotkey == hotkey), None)
    return WorkflowExplanation(
        **common,
        goal_sha256=task.bundle_sha256,
        goal=workflow.goal,
        workflow_type=workflow.type,
        group=_group(frozen, facts) if facts.state == "settled" else None,
        run=explain_run(submission.plan, submission.run) if submission else None,
        measured=explain_measured(outcome.measured) if outcome else None,
        quality=explain_output(facts.version, workflow, submission) if submission else None,
        worth=explain_worth(facts.version, outcome) if outcome else None,
        later=explain_later(facts.version, workflow, submission, check) if submission and check else None,
    )


def _group(frozen: RoundInput, facts: TaskFacts[GoalTask]) -> PlannerGroup:
    uids = {neuron.hotkey: neuron.uid for neuron in frozen.snapshot.neurons}
    ran = {s.hotkey: s for s in facts.results.answers(facts.outcome.task_id, WorkflowSubmission)}

    def line(member: MemberOutcome) -> PlannerLine:
        submission = ran.get(member.hotkey)
        return PlannerLine(
            hotkey=member.hotkey,
            uid=uids.get(member.hotkey),
            role=member.role,
            reason=member.reason,
            steps_completed=sum(step.completed for step in submission.run.steps) if submission else None,
            steps=len(submission.run.steps) if submission else None,
            quality=submission.quality if submission else None,
            entry=member.window_entry,
        )

    return PlannerGroup(facts.outcome.mode, facts.outcome.n_valid, tuple(line(member) for member in facts.members))
