"""Running a plan: every step as soon as what it waits for is there, the whole bounded in money and time (SPEC 12)."""

import asyncio

from validator.chain.within import within
from validator.kinds.workflow.budget import Budget
from validator.kinds.workflow.services import StepClient
from validator.kinds.workflow.step import Step, Surroundings
from validator.protocol.canonical import digest
from validator.protocol.plan_rules import ancestors
from validator.protocol.reasons import Reason
from validator.protocol.workflow_plan import PlanNode, WorkflowPlan
from validator.protocol.workflow_run import RunRecord
from validator.protocol.workflow_task import Tool, WorkflowTask
from validator.scoring import Version
from validator.sources import Clock
from validator.workers.interface import Here, Workers


async def run_plan(  # noqa: PLR0913 - what is run, and with what
    version: Version,
    task: WorkflowTask,
    plan: WorkflowPlan,
    services: StepClient,
    clock: Clock,
    *,
    run_id: str,
    plan_sha256: str | None = None,
    workers: Workers | None = None,
) -> RunRecord:
    """Run a plan that passed its gates; return what was measured.

    Takes at most as many times the task's max_latency_seconds as the version says: steps that have not ended by then
    are cut off. Cancelling cancels every step; nothing is recorded then.

    Args:
        version: the round's: what the run may cost, and how long it may last.
        task: what the plan is for.
        plan: as parsed and found valid for `task`.
        services: how steps are called.
        clock: all times are its.
        run_id: unique for every run of any plan; services see it.
        plan_sha256: of the plan's canonical bytes, where that is known: making them takes up to 200 ms.
        workers: where answers are judged (up to 50 ms each, which other runs would wait for); None: on the event loop.

    Raises:
        ExceptionGroup: an error of the validator, whatever services do.
    """
    budget = Budget(version.ceiling_of(task, plan), version.total_tao)
    around = Surroundings(version, run_id, services, clock, clock.monotonic(), budget, workers or Here())
    steps = {node.id: Step(node, _tool(task, node)) for node in plan.nodes}
    try:
        limit_s = version.rules.workflow.run * task.constraints.max_latency_seconds
        await within(clock, limit_s, _all_steps(plan, steps, around))
    except TimeoutError:
        pass  # what has not ended says so itself
    seconds = around.moment()
    return RunRecord(
        run_version="1.0",
        run_id=run_id,
        goal_sha256=plan.task.goal_sha256,
        plan_sha256=plan_sha256 or digest(plan),
        ceiling_tao=around.budget.ceiling,
        seconds=seconds,
        steps=tuple(step.record(seconds) for step in steps.values()),
    )


async def _all_steps(plan: WorkflowPlan, steps: dict[str, Step], around: Surroundings) -> None:
    before = ancestors(plan)
    ended = {node: asyncio.Event() for node in steps}

    async def run(name: str) -> None:
        parents = [edge.source for edge in plan.edges if edge.target == name]
        for parent in parents:
            await ended[parent].wait()
        step = steps[name]
        if all(steps[parent].outcome == Reason.STEP_SUCCEEDED for parent in parents):
            outputs = {earlier: output for earlier in before[name] if (output := steps[earlier].output) is not None}
            await step.run(around, outputs)
        else:
            step.outcome = Reason.STEP_DEPENDENCY
        ended[name].set()

    async with asyncio.TaskGroup() as group:
        for name in steps:
            group.create_task(run(name))


def _tool(task: WorkflowTask, node: PlanNode) -> Tool:
    tool = task.tool(node.service, node.action)
    if tool is None:
        raise ValueError(f"the plan is not valid for the task: step {node.id}")
    return tool
