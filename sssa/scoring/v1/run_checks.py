"""Consistency of a stored plan with its recorded run, for replay and verify: all that needs no second run (SPEC 12)."""

from collections.abc import Iterator
from typing import Final

from sssa.protocol import arithmetic
from sssa.protocol.canonical import digest
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask
from sssa.protocol.workflow_plan import PlanError, PlanNode, check_plan, plan_validity
from sssa.protocol.workflow_run import StepOutput, StepRecord, run_id_of
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring.scoring_types import Fault
from sssa.scoring.v1.output_quality import read_quality
from sssa.scoring.v1.rules import Ruled
from sssa.scoring.v1.workflow import ceiling_of, result_of, totals_fault

_FIRST_AND_UNPLANNED: Final = 2  # tries beyond the declared retries (SPEC 12)


def submission_fault(version: Ruled, task: GoalTask, submission: WorkflowSubmission) -> Fault | None:
    """Return the first contradiction, None without any.

    The plan: a graph as gate 2 takes it, for this dispatch and signed by the miner (gate 3), with its digest. The run:
    of this plan, each step within its declared tries and cost, the whole within its ceiling, every output the one that
    its try names. The quality: judged again, but for code, which would have to be run.

    Args:
        version: the round's.
        task: the task as dispatched.
        submission: one member's plan and run.
    """
    return _plan_fault(task, submission) or next(_run_faults(version, task, submission), None)


def _plan_fault(task: GoalTask, submission: WorkflowSubmission) -> Fault | None:
    plan = submission.plan
    try:
        check_plan(plan)
    except PlanError as error:
        return Fault("plan", error.detail)
    less = totals_fault(plan)
    if less is not None:
        return Fault("plan", less)
    fault = plan_validity(plan, task.goal, task.nonce, submission.hotkey)
    if fault is not None:
        reason, where = fault
        return Fault("plan", f"{reason}: {reason.meaning} {where}")
    return None if submission.plan_sha256 == digest(plan) else Fault("plan_sha256", "is not that of the plan")


def _run_faults(version: Ruled, task: GoalTask, submission: WorkflowSubmission) -> Iterator[Fault]:
    plan, run = submission.plan, submission.run
    if run.plan_sha256 != submission.plan_sha256:
        yield Fault("run.plan_sha256", "is not that of the plan: the run is of another one")
    if run.goal_sha256 != task.bundle_sha256:
        yield Fault("run.goal_sha256", "is not that of the goal")
    if run.run_id != run_id_of(task.task_id, submission.hotkey):
        yield Fault("run.run_id", "does not follow from task and hotkey")
    if run.ceiling_tao != ceiling_of(version, task.goal, plan):
        yield Fault("run.ceiling_tao", "does not follow from the task's budget and the plan's total")
    if [step.node_id for step in run.steps] != [node.id for node in plan.nodes]:
        yield Fault("run.steps", "are not the plan's, in its order")
        return
    for i, (node, step) in enumerate(zip(plan.nodes, run.steps, strict=True)):
        yield from _step_faults(f"run.steps[{i}]", task.goal, node, step, run.seconds)
    if arithmetic.total(attempt.cost_tao for step in run.steps for attempt in step.attempts) > run.ceiling_tao:
        yield Fault("run.ceiling_tao", "is less than what the tries cost together")
    output = result_of(plan, run)
    if task.secret is None and rests_on_reference(task.goal, output):
        return  # a log that does not show it
    quality = read_quality(task.goal, output)
    if quality is not None and submission.quality != quality:
        yield Fault("quality", f"is {submission.quality}, the output is worth {quality}")


def rests_on_reference(task: WorkflowTask, output: StepOutput | None) -> bool:
    """Return whether the result's quality depends on the reference: not for code, nor without a result."""
    return output is not None and task.type != "code"


def _step_faults(path: str, task: WorkflowTask, node: PlanNode, step: StepRecord, seconds: float) -> Iterator[Fault]:
    tries = step.attempts
    if len(tries) > node.error_handling.retry_count + _FIRST_AND_UNPLANNED:
        yield Fault(f"{path}.attempts", "are more than the plan declares, with the unplanned one")
    tool = task.tool(node.service, node.action)
    most = arithmetic.whole(max(node.estimated_cost, tool.avg_cost_tao if tool else 0.0))
    moment = 0.0
    for i, attempt in enumerate(tries):
        if not moment <= attempt.started <= attempt.ended <= seconds:
            yield Fault(f"{path}.attempts[{i}]", "is out of the order of time")
        if attempt.cost_tao > most or attempt.cost_tao > arithmetic.whole(attempt.charged_tao or 0.0):
            yield Fault(f"{path}.attempts[{i}].cost_tao", "is more than was admitted, or than was charged")
        moment = attempt.ended
    last = tries[-1] if tries else None
    if step.completed != (last is not None and last.outcome == Reason.STEP_SUCCEEDED):
        yield Fault(f"{path}.outcome", "is not the outcome of the last try")
    if step.completed != (step.output is not None):
        yield Fault(f"{path}.output", "goes with a step that succeeded, and only with one")
    if last is not None and step.output is not None and last.output_sha256 != digest(step.output):
        yield Fault(f"{path}.output", "is not the one that the last try names by its sha256")
