"""Run of an accepted plan on its services (SPEC 12); called in a round, after the gates.

Every step starts as soon as its inputs exist; money and time bound the whole. The output is judged by the reference,
code later in a sandbox. Nothing is stored here: the round's dispatch and `miner check` get the result.
"""

import asyncio
from dataclasses import dataclass, field

import structlog

from sssa.kinds.judging import Expected
from sssa.kinds.workflow.gates import AcceptedPlan
from sssa.protocol.canonical import digest
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask
from sssa.protocol.workflow_plan import PlanNode, WorkflowPlan, ancestors
from sssa.protocol.workflow_run import RunRecord, run_id_of
from sssa.protocol.workflow_task import Tool, WorkflowTask
from sssa.scoring import Version, ceiling_of, measure, read_quality, result_of, version
from sssa.sources import Clock
from validator.cancellation import within
from validator.kinds.workflow.step import Budget, RunContext, Step, StepClient
from validator.outgoing.stalls import OwnClock, StallsSince, no_stalls
from validator.telemetry import Event
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
    stalls: StallsSince = no_stalls,
) -> RunRecord:
    """Run a plan that passed its gates; return what was measured.

    Takes at most as many times the task's max_latency_seconds as the version says: steps that have not ended by then
    are cut off. Cancelling cancels every step; nothing is recorded then.

    Args:
        version: the round's: what the run may cost, and how long it may last.
        task: what the plan is for.
        plan: as parsed and found valid for `task`.
        services: how steps are called.
        clock: all times are its, without those of `stalls`.
        run_id: unique for every run of any plan; services see it.
        plan_sha256: of the plan's canonical bytes, where that is known: making them takes up to 200 ms.
        workers: where answers are judged (up to 50 ms each, which other runs would wait for); None: on the event loop.
        stalls: tells when the validator stood still.

    Raises:
        ExceptionGroup: an error of the validator, whatever services do.
    """
    budget, own = Budget(ceiling_of(version, task, plan)), OwnClock(clock, stalls, clock.monotonic())
    context = RunContext(version, run_id, services, own, own.began, budget, workers or Here())
    steps = {node.id: Step(node, _tool(task, node)) for node in plan.nodes}
    try:
        limit_s = version.rules.workflow.run * task.constraints.max_latency_seconds
        await within(own, limit_s, _all_steps(plan, steps, context))
    except TimeoutError:
        pass  # what has not ended says so itself
    seconds = context.moment()
    return RunRecord(
        run_version="1.0",
        run_id=run_id,
        goal_sha256=plan.task.goal_sha256,
        plan_sha256=plan_sha256 or digest(plan),
        ceiling_tao=context.budget.ceiling,
        seconds=seconds,
        steps=tuple(step.record(seconds) for step in steps.values()),
    )


async def _all_steps(plan: WorkflowPlan, steps: dict[str, Step], context: RunContext) -> None:
    before = ancestors(plan)
    ended = {node: asyncio.Event() for node in steps}

    async def run(name: str) -> None:
        parents = [edge.source for edge in plan.edges if edge.target == name]
        for parent in parents:
            await ended[parent].wait()
        step = steps[name]
        if all(steps[parent].outcome == Reason.STEP_SUCCEEDED for parent in parents):
            outputs = {earlier: output for earlier in before[name] if (output := steps[earlier].output) is not None}
            await step.run(context, outputs)
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


_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PlanRunner:
    """Runs plans.

    Args:
        workers: where services' answers are judged.
        stalls: tells when the validator stood still: on no run's time.
    """

    services: StepClient
    clock: Clock
    workers: Workers = field(default_factory=Here)
    stalls: StallsSince = no_stalls

    async def run(
        self, round_id: str, expected: Expected[GoalTask], accepted: AcceptedPlan, seconds: float
    ) -> WorkflowSubmission:
        """Run a plan; return the result of it. See `Runner`.

        Raises:
            ExceptionGroup: an error of the validator, whatever miner and services do.
        """
        task, plan = expected.task.goal, accepted.plan
        scored_by = version(expected.scoring_version)
        run_id = run_id_of(expected.task.task_id, expected.hotkey)
        run = await run_plan(
            scored_by,
            task,
            plan,
            self.services,
            self.clock,
            run_id=run_id,
            plan_sha256=accepted.sha256,
            workers=self.workers,
            stalls=self.stalls,
        )
        quality = read_quality(task, result_of(plan, run))
        measured = measure(task, plan, run, 0.0)
        (_log.debug if measured.steps_completed == measured.total_steps else _log.info)(
            Event.WORKFLOW_RAN,
            round_id=round_id,
            task_id=expected.task.task_id,
            hotkey=expected.hotkey,
            run_id=run_id,
            reason=Reason.QUALITY_DEFERRED if quality is None else Reason.QUALITY_JUDGED,
            quality=quality,
            steps=measured.total_steps,
            completed=measured.steps_completed,
            cost_tao=measured.actual_tao,
            seconds=round(run.seconds, 3),
            timeouts=measured.timeouts,
            hard_failures=measured.hard_failures,
        )
        return WorkflowSubmission(
            task_id=expected.task.task_id,
            hotkey=expected.hotkey,
            role=expected.role,
            seconds=seconds,
            plan=plan,
            plan_sha256=accepted.sha256,
            run=run,
            quality=quality,
        )
