"""Measured numbers of a recorded run, the input of the formula (SPEC 12): the same record always gives the same."""

from validator.protocol import arithmetic
from validator.protocol.reasons import Reason
from validator.protocol.workflow_plan import WorkflowPlan
from validator.protocol.workflow_run import RunRecord, StepOutput, StepRecord, WorkflowRun
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring.v1.rules import Ruled


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
