"""Running an accepted plan and judging its output (SPEC 12)."""

from dataclasses import dataclass, field

import structlog

from validator.kinds.judging import Expected
from validator.kinds.workflow.executor import run_plan
from validator.kinds.workflow.gates import AcceptedPlan
from validator.kinds.workflow.quality import judge_output
from validator.kinds.workflow.services import StepClient
from validator.protocol.round import GoalTask, WorkflowSubmission
from validator.protocol.workflow_run import run_id_of
from validator.scoring import version
from validator.sources import Clock
from validator.telemetry import Event
from validator.workers.interface import Here, Workers

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PlanRunner:
    """Runs plans.

    Args:
        services: how their steps are called.
        clock: all times are its.
        workers: where services' answers are judged.
    """

    services: StepClient
    clock: Clock
    workers: Workers = field(default_factory=Here)

    async def run(
        self, round_id: str, expected: Expected[GoalTask], accepted: AcceptedPlan, seconds: float
    ) -> WorkflowSubmission:
        """Run a plan; return what came of it. See `Runner`.

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
        )
        quality = judge_output(scored_by, task, scored_by.result_of(plan, run))
        measured = scored_by.measure(task, plan, run, 0.0)
        (_log.debug if measured.steps_completed == measured.total_steps else _log.info)(
            Event.WORKFLOW_RAN,
            round_id=round_id,
            task_id=expected.task.task_id,
            hotkey=expected.hotkey,
            run_id=run_id,
            reason=quality.reason,
            quality=quality.value,
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
            quality=quality.value,
        )
