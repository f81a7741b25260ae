"""Explanation of one workflow task: a miner's plan, its run step by step, and its score (SPEC 12)."""

from datetime import datetime
from typing import Final

from msgspec import UNSET

from sssa.kinds.task_explanation import Part, TaskExplanation, TaskFacts, explain_task
from sssa.kinds.workflow.gates import applying_gates
from sssa.protocol.answer import Role
from sssa.protocol.canonical import canonical_bytes, digest
from sssa.protocol.execution import WorkState
from sssa.protocol.reasons import Reason, meaning_of
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask, MemberOutcome, RanMember, RoundInput, WorkflowOutcome
from sssa.protocol.sssa import Document
from sssa.protocol.text import count, cut, plain
from sssa.protocol.waiting_work import CodeCheck
from sssa.protocol.workflow_plan import PlanNode, WorkflowPlan
from sssa.protocol.workflow_run import Attempt, CodeReport, RunRecord, StepOutput, StepRecord, WorkflowRun
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring import (
    Addend,
    Penalty,
    Version,
    criteria_met,
    fill_run,
    keys_met,
    measure,
    penalties,
    read_quality,
    result_of,
    text_of,
    words_shared,
    worth_parts,
)

SHOWN: Final = 200  # code points of parameters and outputs


class Step(Document, frozen=True):
    """One step, as declared and as it went.

    Attributes:
        after: ids of the steps it waits for.
        params: canonical JSON, cut after 200 code points.
        estimated_cost, estimated_latency: as declared, in TAO and seconds.
        retries, timeout_seconds: as declared.
        outcome, meaning: how it ended; `detail` says more where it was not started.
        attempts: its tries, in seconds since the run began.
        output_sha256: of its output; None without one.
        output: how that begins, 200 code points of text, code or JSON.
        is_result: whether this output is the one that was judged.
    """

    node_id: str
    service: str
    action: str
    after: tuple[str, ...]
    params: str
    estimated_cost: float
    estimated_latency: float
    retries: int
    timeout_seconds: float
    outcome: Reason
    meaning: str | None
    detail: str
    attempts: tuple[Attempt, ...]
    output_sha256: str | None
    output: str | None
    is_result: bool


class Run(Document, frozen=True):
    """The plan and the whole run; totals as declared, `ceiling_tao` is the most that the run could cost."""

    run_id: str
    plan_sha256: str
    estimated_cost: float
    estimated_latency: float
    ceiling_tao: float
    seconds: float
    steps: tuple[Step, ...]


def explain_run(plan: WorkflowPlan, run: RunRecord) -> Run:
    """Return the steps of `plan`, in its order, with the result of each in `run`."""
    result = result_of(plan, run)
    steps = tuple(
        _step(plan, node, step, is_result=result is not None and step.output is result)
        for node, step in zip(plan.nodes, run.steps, strict=True)
    )
    cost, latency = plan.totals.estimated_cost, plan.totals.estimated_latency
    return Run(run.run_id, run.plan_sha256, cost, latency, run.ceiling_tao, run.seconds, steps)


def _step(plan: WorkflowPlan, node: PlanNode, step: StepRecord, *, is_result: bool) -> Step:
    return Step(
        node_id=node.id,
        service=node.service,
        action=node.action,
        after=tuple(edge.source for edge in plan.edges if edge.target == node.id),
        params=cut(canonical_bytes(node.params).decode(), SHOWN),
        estimated_cost=node.estimated_cost,
        estimated_latency=node.estimated_latency,
        retries=node.error_handling.retry_count,
        timeout_seconds=node.error_handling.timeout_seconds,
        outcome=step.outcome,
        meaning=meaning_of(step.outcome),
        detail=step.detail,
        attempts=step.attempts,
        output_sha256=None if step.output is None else digest(step.output),
        output=None if step.output is None else cut(text_of(step.output), SHOWN),
        is_result=is_result,
    )


_NOUNS: Final = {"unplanned": "unplanned retry", "timeouts": "timeout", "hard_failures": "hard failure"}


class Measure(Document, frozen=True):
    """One measured value and the limit it is compared with."""

    name: str
    value: float
    limit: float | None
    why: str


class Check(Document, frozen=True):
    """One thing that the output was looked at for."""

    what: str
    met: bool


class OutputQuality(Document, frozen=True):
    """Quality of the output; `value` is None while it is deferred. `checks` in the order of the reference."""

    value: float | None
    why: str
    checks: tuple[Check, ...]


class Worth(Document, frozen=True):
    """S, the sum of its parts."""

    parts: tuple[Part, ...]
    score: float


def explain_measured(run: WorkflowRun) -> tuple[Measure, ...]:
    """Return the measured values of a run that enter its score, with their limits."""
    return (
        Measure("steps", run.steps_completed, run.total_steps, "completed, of the plan's or the task's required steps"),
        Measure("cost", run.actual_tao, run.max_budget_tao, "TAO, of the task's budget"),
        Measure("time", run.actual_seconds, run.max_latency_seconds, "seconds, of the task's limit"),
        Measure(
            "retries",
            run.actual_retries,
            run.declared_retry_budget,
            "tries after the first; the limit is what was declared",
        ),
        Measure("timeouts", run.timeouts, None, "tries cut off at their declared limit"),
        Measure("hard failures", run.hard_failures, None, "steps that were tried and failed finally"),
    )


def explain_output(version: Version, task: WorkflowTask, submission: WorkflowSubmission) -> OutputQuality:
    """Return how the output was judged: by ROUGE-L, checklist, keys or tests."""
    output = result_of(submission.plan, submission.run)
    if output is None:
        return OutputQuality(submission.quality, "no step that ends the plan gave an output", ())
    match task.type:
        case "rag":
            return OutputQuality(submission.quality, _shared_words(task, output), ())
        case "agent":
            criteria = task.reference.given("checklist")
            met = criteria_met(criteria, output)
            checks = tuple(Check(f"{c.type} {c.value}", held) for c, held in zip(criteria, met, strict=True))
            return OutputQuality(submission.quality, f"{sum(met)} of {len(met)} criteria met", checks)
        case "data_transform":
            return _keys(task, output, submission.quality)
        case _:
            return OutputQuality(submission.quality, _code(version, task, output, submission.quality), ())


def explain_worth(version: Version, outcome: WorkflowOutcome) -> Worth:
    """Return the parts of S, each with why."""
    run, score, gate = outcome.measured, outcome.score, version.rules.workflow.gate
    gated = f"success {score.success:.4f} is not above {gate:.12g}: counts nothing"
    earned = score.success > gate
    whys = {
        "success": f"quality {run.output_quality:.4f} × {run.steps_completed} of {run.total_steps} steps",
        "cost": f"1 − {run.actual_tao:g} of {run.max_budget_tao:g} TAO" if earned else gated,
        "latency": f"1 − {run.actual_seconds:g} of {run.max_latency_seconds:g} seconds" if earned else gated,
        "reliability": _penalties(penalties(version, run)),
    }
    return Worth(tuple(_part(part, whys[part.name]) for part in worth_parts(version, score)), score.score)


def _part(part: Addend, why: str) -> Part:
    if part.weight * part.value > part.contribution:
        why = f"{why}; no step completed: counts nothing (D-32)"
    return Part(*part, why)


def _penalties(applied: tuple[Penalty, ...]) -> str:
    taken = [f"{plain(one.weight)} × {count(one.times, _NOUNS[one.name])}" for one in applied if one.times]
    return " − ".join(["1", *taken]) if taken else "no unplanned retry, timeout or hard failure"


def _shared_words(task: WorkflowTask, output: StepOutput) -> str:
    common, expected, given = words_shared(task.reference.given("text"), output.text or "")
    lengths = f"({expected} of the reference + {given} of the output)"
    return f"ROUGE-L over words: {common} in common, in their order; 2 × {common} / {lengths}"


def _keys(task: WorkflowTask, output: StepOutput, quality: float | None) -> OutputQuality:
    if task.reference.expected_text is not UNSET:
        same = read_quality(task, output) == 1.0
        return OutputQuality(quality, "the text of the reference" if same else "not the reference's text", ())
    met = keys_met(task.reference.given("expected"), output)
    if met is None:
        same = read_quality(task, output) == 1.0
        return OutputQuality(quality, "the same JSON as the reference" if same else "not the reference's JSON", ())
    why = f"{sum(met.values())} of the reference's {count(len(met), 'key')} have its value and type"
    return OutputQuality(quality, why, tuple(Check(f"key {key}", held) for key, held in met.items()))


def _code(version: Version, task: WorkflowTask, output: StepOutput, quality: float | None) -> str:
    if read_quality(task, output) is not None:
        return "no code"
    if quality is None:
        return "deferred: code is judged by running the task's tests in a sandbox, after the round"
    rules = version.rules.workflow
    return (
        f"{plain(rules.tests)} × share of the task's tests passed + {plain(rules.lint)} × max(0, 1 − "
        f"{plain(rules.finding)} × lint findings), as the sandbox found"
    )


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
    filled = None
    if check.report is not None:
        measured = measure(task, submission.plan, submission.run, 0.0)
        filled = fill_run(version, measured, check.report)
    return JudgedLater(
        check_id=check.work_id,
        state=check.state,
        attempts=check.attempts,
        due_at=check.due_at,
        reason=check.reason,
        meaning=meaning_of(check.reason),
        detail=check.detail,
        report=check.report,
        quality=filled.measured.output_quality if filled else None,
        measured=explain_measured(filled.measured) if filled else None,
        worth=explain_worth(version, filled) if filled else None,
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


class WorkflowExplanation(TaskExplanation, frozen=True, tag="workflow"):
    """A workflow task as one miner met it.

    Attributes:
        goal_sha256: what a plan is bound to; `goal` and `workflow_type` of the task.
        members: other planners of the same goal too; none of a void or skipped task.
        run: its plan and the run of it; None where a gate failed. The next three are None then, too.
        measured: values against their limits; None while the quality is deferred.
        worth: the parts of S; None while the quality is deferred.
        later: the result of its code after the round; None where nothing was deferred.
    """

    goal_sha256: str
    goal: str
    workflow_type: str
    members: tuple[PlannerLine, ...]
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
        members=_members(frozen, facts) if facts.state == "settled" else (),
        run=explain_run(submission.plan, submission.run) if submission else None,
        measured=explain_measured(outcome.measured) if outcome else None,
        quality=explain_output(facts.version, workflow, submission) if submission else None,
        worth=explain_worth(facts.version, outcome) if outcome else None,
        later=explain_later(facts.version, workflow, submission, check) if submission and check else None,
    )


def _members(frozen: RoundInput, facts: TaskFacts[GoalTask]) -> tuple[PlannerLine, ...]:
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

    return tuple(line(member) for member in facts.members)
