"""Workflows: measurements of a run, their score, the scores of a group, and qualities judged late (SPEC 12)."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from sssa.protocol import arithmetic
from sssa.protocol.draws import dispatch_id
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Rejection, WorkflowSubmission
from sssa.protocol.round import (
    GoalTask,
    GroupOutcome,
    GroupPlan,
    RanMember,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    WorkflowOutcome,
)
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_plan import WorkflowPlan
from sssa.protocol.workflow_run import CodeReport, RunRecord, StepOutput, StepRecord, WorkflowRun, WorkflowScore
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring.scoring_types import Addend, DeferredRun, Penalty, ScoredTask
from sssa.scoring.v1.claims import majority_threshold
from sssa.scoring.v1.output_quality import code_quality
from sssa.scoring.v1.rules import Ruled
from sssa.scoring.v1.task import failed_member


def totals_fault(plan: WorkflowPlan) -> str | None:
    """Return which of the plan's totals is less than the sum over its steps, None if neither is.

    Seconds are compared as TAO is, in billionths: however a planner adds its floats up, its sum is the sum.
    """
    for name in ("estimated_cost", "estimated_latency"):
        total, steps = getattr(plan.totals, name), arithmetic.total(getattr(node, name) for node in plan.nodes)
        if arithmetic.whole(total) < steps:
            return f"{total:g} is less than the {steps:.10g} of its steps - at `totals.{name}`"
    return None


def ceiling_of(version: Ruled, task: WorkflowTask, plan: WorkflowPlan) -> float:
    """Return the most TAO that the run may cost, in whole rao."""
    ceiling = min(task.constraints.max_budget_tao, version.rules.workflow.budget * plan.totals.estimated_cost)
    return arithmetic.whole(ceiling)


def measure(task: WorkflowTask, plan: WorkflowPlan, record: RunRecord, quality: float) -> WorkflowRun:
    """Return what the formula scores.

    Args:
        task: the limits and the required steps.
        plan: the declared retries and the number of steps.
        record: of a run of `plan`.
        quality: of the output, in [0, 1].
    """
    attempts = [attempt for step in record.steps for attempt in step.attempts]
    return WorkflowRun(
        output_quality=quality,
        steps_completed=sum(step.completed for step in record.steps),
        total_steps=max(len(plan.nodes), task.required_steps),
        actual_tao=arithmetic.total(attempt.cost_tao for attempt in attempts),
        max_budget_tao=task.constraints.max_budget_tao,
        actual_seconds=record.seconds,
        max_latency_seconds=task.constraints.max_latency_seconds,
        actual_retries=sum(max(0, len(step.attempts) - 1) for step in record.steps),
        declared_retry_budget=sum(node.error_handling.retry_count for node in plan.nodes),
        timeouts=sum(attempt.outcome == Reason.STEP_TIMEOUT for attempt in attempts),
        hard_failures=sum(map(failed_hard, record.steps)),
    )


def failed_hard(step: StepRecord) -> bool:
    """Return whether the step was tried and failed finally, or referred to a missing step.

    A step that was never started, for want of budget, of what it depends on or of time, is no hard failure.
    """
    return step.outcome == Reason.STEP_REFERENCE or (bool(step.attempts) and not step.completed)


def result_of(plan: WorkflowPlan, record: RunRecord) -> StepOutput | None:
    """Return the output that is judged: of the last completed step, in plan order, from which no edge leads on."""
    sources = {edge.source for edge in plan.edges}
    ends = [step.output for step in record.steps if step.node_id not in sources and step.completed]
    return ends[-1] if ends else None


def score_workflow(version: Ruled, run: WorkflowRun) -> WorkflowScore:
    """Return S = 0.50 success + 0.25 cost + 0.15 latency + 0.10 reliability; 0 if no step completed (SPEC 12, D-32).

    Raises:
        ValueError: more steps completed than there are.
    """
    if run.steps_completed > run.total_steps:
        raise ValueError("must not exceed total_steps - at `$.steps_completed`")
    success = run.output_quality * run.steps_completed / run.total_steps if run.total_steps else 0.0
    earned = success > version.rules.workflow.gate
    cost = max(0.0, 1.0 - run.actual_tao / run.max_budget_tao) if earned else 0.0
    latency = max(0.0, 1.0 - run.actual_seconds / run.max_latency_seconds) if earned else 0.0
    reliability = _reliability(version, run)
    score = 0.0
    for _, weight, value in _weighted(version, success, cost, latency, reliability):
        score += weight * value
    return WorkflowScore(success, cost, latency, reliability, score if run.steps_completed else 0.0)


def worth_parts(version: Ruled, score: WorkflowScore) -> tuple[Addend, ...]:
    """Return the four parts of S, which add up to S from left to right; 0 each where S is 0."""
    parts = _weighted(version, score.success, score.cost, score.latency, score.reliability)
    return tuple(Addend(name, weight, value, weight * value if score.score else 0.0) for name, weight, value in parts)


def _weighted(version: Ruled, *values: float) -> list[tuple[str, float, float]]:
    parts = zip(version.rules.workflow.parts, values, strict=True)
    return [(name, weight, value) for (name, weight), value in parts]


def penalties(version: Ruled, run: WorkflowRun) -> tuple[Penalty, ...]:
    """Return the deductions from the reliability."""
    rules = version.rules.workflow
    return (
        Penalty("unplanned", rules.unplanned, max(0, run.actual_retries - run.declared_retry_budget)),
        Penalty("timeouts", rules.timeout, run.timeouts),
        Penalty("hard_failures", rules.hard_failure, run.hard_failures),
    )


def _reliability(version: Ruled, run: WorkflowRun) -> float:
    unplanned, timeouts, failures = (one.weight * one.times for one in penalties(version, run))
    return min(1.0, max(0.0, 1.0 - (unplanned + timeouts + failures)))


def score_plans(
    version: Ruled,
    task: GoalTask,
    plan: GroupPlan,
    submissions: Sequence[WorkflowSubmission],
    rejections: Sequence[Rejection],
) -> ScoredTask:
    """Return the outcome of one workflow task: consensus and role are 1.0 for all members.

    Args:
        version: the round's.
        task: the task.
        plan: its group; a member with neither submission nor rejection must not exist.
        submissions: plans of this task that were run, any order.
        rejections: failed dispatches of this task, any order.
    """
    passed = {s.hotkey: s for s in submissions}
    failed = {r.hotkey: r for r in rejections}
    members = tuple(
        _ran(version, task.goal, passed[hotkey]) if hotkey in passed else failed_member(failed[hotkey])
        for hotkey, _ in plan.members
    )
    reason = Reason.SKIPPED_NO_CANDIDATES if plan.mode == "skip" else Reason.SETTLED
    return ScoredTask(_group(plan, reason, len(passed)), members)


def _ran(version: Ruled, task: WorkflowTask, submission: WorkflowSubmission) -> RanMember:
    outcome = None
    if submission.quality is not None:
        measured = measure(task, submission.plan, submission.run, submission.quality)
        outcome = WorkflowOutcome(measured, score_workflow(version, measured))
    return RanMember(
        task_id=submission.task_id,
        hotkey=submission.hotkey,
        role=submission.role,
        reason=Reason.WORKFLOW_DEFERRED if outcome is None else Reason.ACCEPTED,
        consensus=1.0,
        window_entry=None if outcome is None else outcome.score.score,
        workflow=outcome,
    )


def _group(plan: GroupPlan, reason: Reason, n_valid: int) -> GroupOutcome:
    return GroupOutcome(
        task_id=plan.task_id,
        reason=reason,
        mode=plan.mode,
        n_valid=n_valid,
        threshold=majority_threshold(n_valid),
        verdict=None,
        mean_risk=None,
        finding_keys=(),
        provenance=None,
        scored_verdict=None,
        auditor_agreement=None,
    )


def deferred_runs(frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[DeferredRun, ...]:
    """Return the runs whose quality the round could not judge, in plan order, members in group order."""
    deferred = {
        (member.task_id, member.hotkey)
        for member in outcome.members
        if isinstance(member, RanMember) and member.reason == Reason.WORKFLOW_DEFERRED
    }
    return tuple(
        DeferredRun(dispatch_id(frozen.round_id, position, rank), group.task_id, hotkey)
        for position, group in enumerate(plan.groups)
        for rank, (hotkey, _) in enumerate(group.members)
        if (group.task_id, hotkey) in deferred
    )


def fill_run(version: Ruled, measured: WorkflowRun, report: CodeReport) -> WorkflowOutcome:
    """Return the score of a run once its code has been judged.

    Args:
        version: that of the answer's own round.
        measured: of the run, with whatever quality.
        report: of its code.
    """
    quality = code_quality(version, report.passed, report.total, report.findings)
    whole = structs.replace(measured, output_quality=quality)
    return WorkflowOutcome(whole, score_workflow(version, whole))


def filled_entries(frozen: RoundInput) -> Iterator[tuple[str, str, str, float]]:
    """Yield (hotkey, skill_type, task_id, value) of what enters score windows late, by check id.

    These go before the round's own: the answers are older.
    """
    for filled in frozen.filled:
        yield filled.hotkey, str(SkillType.WORKFLOW), filled.task_id, filled.score
