"""Score formula of a workflow run, 1.1.0: nothing for nothing, and sums in whole rao (SPEC 16, D-32)."""

import msgspec

from validator.protocol import arithmetic
from validator.protocol.workflow_plan import WorkflowPlan
from validator.protocol.workflow_run import RunRecord, WorkflowRun, WorkflowScore
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring.constants import Ruled
from validator.scoring.v1_0 import workflow, workflow_runs
from validator.scoring.values import Addend


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
    return arithmetic.whole(workflow_runs.ceiling_of(version, task, plan))


def measure(task: WorkflowTask, plan: WorkflowPlan, record: RunRecord, quality: float) -> WorkflowRun:
    """Return what the formula scores, its TAO summed in whole rao. See 1.0.0's."""
    measured = workflow_runs.measure(task, plan, record, quality)
    cost = arithmetic.total(attempt.cost_tao for step in record.steps for attempt in step.attempts)
    return msgspec.structs.replace(measured, actual_tao=cost)


def score_workflow(version: Ruled, run: WorkflowRun) -> WorkflowScore:
    """Return S as in 1.0.0, with its own gate (D-25); 0 if no step completed, whatever the parts.

    Raises:
        ValueError: more steps completed than there are.
    """
    score = workflow.score_workflow(version, run)
    return score if run.steps_completed else msgspec.structs.replace(score, score=0.0)


def worth_parts(version: Ruled, score: WorkflowScore) -> tuple[Addend, ...]:
    """Return the four parts of S; added up from left to right they are S: nothing each, where S is nothing."""
    parts = workflow.worth_parts(version, score)
    return parts if score.score else tuple(part._replace(contribution=0.0) for part in parts)
