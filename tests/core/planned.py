"""Rounds of workflow tasks that bring about everything that is to be replayed, verified and explained of them.

The same on every run: each plan is run on its own clock that jumps from one sleeper to the next.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import cycle, islice
from typing import Any, Final

import msgspec
from explained import HOTKEYS, NUMBERS, ExplainedWorld
from workflow_builders import FOREVER, ScriptedServices, Try, make_workflow, on_virtual_time, plan_document, step
from world import honest

from sssa.kinds.judging import Expected
from sssa.kinds.workflow.gates import AcceptedPlan
from sssa.kinds.workflow.kind import WORKFLOW
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.waiting_work import CodeCheck, Judged
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.protocol.workflow_run import CodeReport, StepOutput
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring import fill_run, measure, version
from sssa.sources import SeededRandom, VirtualClock
from validator.kinds.assessment.supply import Bundles
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.supply import Goals
from validator.miners.scripted import ScriptedReply
from validator.store import Store, Transaction
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource, Order

MINERS: Final = 5
PLANNED_ROUNDS: Final = 2
GOOD, SLOW, CYCLE, SHAKY, GREEDY = range(MINERS)
RAG = make_workflow("rag", required_steps=2)
AGENT = make_workflow("agent", goal="Say how it ended.\x1b[31m")
CODE, TRANSFORM = make_workflow("code", goal="Write f."), make_workflow("data_transform", goal="Count the names.")
OUTPUTS: Final = {
    "rag": StepOutput("The cat sat on the mat.", None, None),
    "agent": StepOutput(None, None, {"answer": "all 100 done"}),
    "code": StepOutput(None, "def f():\n    return 1\n", None),
    "data_transform": StepOutput(None, None, {"names": ["a", "b"], "count": "2", "more": True}),
}
_PARTLY = StepOutput("The cat, done\u202e.", None, None)
_RETRYING: Final[dict[str, Any]] = {"retries": 1, "timeout": 2.0}
PLANS: Final[dict[int, tuple[tuple[dict[str, Any], ...], tuple[tuple[str, str], ...]]]] = {
    GOOD: ((step("find"), step("end", {"text": "${find.output.text}"})), (("find", "end"),)),
    SLOW: ((step("find"), step("slow", **_RETRYING), step("end")), (("find", "slow"), ("find", "end"))),
    CYCLE: ((step("a"), step("b")), (("a", "b"), ("b", "a"))),
    SHAKY: ((step("find"), step("broken"), step("partly")), (("find", "broken"), ("broken", "partly"))),
    GREEDY: ((step("find"), step("greedy"), step("end")), (("greedy", "end"),)),
}


class JumpingRunner(PlanRunner):
    """Runs each plan on its own virtual time."""

    async def run(
        self, round_id: str, expected: Expected[GoalTask], accepted: AcceptedPlan, seconds: float
    ) -> WorkflowSubmission:
        clock = VirtualClock()
        script = {
            "end": [Try(1.5, 0.01, output=OUTPUTS[expected.task.goal.type])],
            "slow": [Try(FOREVER)],
            "broken": [Try(0.5, fault=Reason.STEP_CONNECTION), Try(0.5)],
            "partly": [Try(output=_PARTLY)],
            "greedy": [Try(cost=0.5)],
        }
        runner = PlanRunner(ScriptedServices(clock, script), clock)
        return await on_virtual_time(clock, runner.run(round_id, expected, accepted, seconds))


class GoalsInTurn(MemoryGoals):
    """Serves tasks in the order given, round about: pages show the same ones always."""

    def __init__(self, tasks: Sequence[WorkflowTask]) -> None:
        super().__init__(tasks)
        self._turns = cycle(tasks)

    async def fetch(self, count: int, order: Order) -> list[WorkflowTask]:
        return list(islice(self._turns, count))


async def planned(store: Store) -> ExplainedWorld:
    """Play two rounds: a rag and an agent task, then a code and a data_transform task."""
    source = MemorySource()
    world = ExplainedWorld(store, source, honest, dict.fromkeys(range(MINERS), (SkillType.WORKFLOW,)))
    goals = GoalsInTurn([RAG, AGENT, CODE, TRANSFORM])
    random = SeededRandom("planned")
    supplies = (Bundles(source, None, random), Goals(goals, random))
    world.preparer = replace(world.preparer, supplies=supplies)
    world.dispatcher = replace(
        world.dispatcher, runners={WORKFLOW.name: JumpingRunner(ScriptedServices(world.clock, {}), world.clock)}
    )
    world.planner = plan
    for _ in range(PLANNED_ROUNDS):
        await world.play()
    return world


async def judged(store: Store) -> ExplainedWorld:
    """Play three rounds; the code of one miner is judged between the second and the third, that of another waits."""
    world = await planned(store)
    now = world.clock.now()
    async with store.begin() as tx:
        while (taken := await tx.code_checks.take(now)) is not None:
            if taken.hotkey == HOTKEYS[GOOD]:
                await _judge(tx, taken, CodeReport(3, 4, 2), now)
            elif taken.hotkey == HOTKEYS[SHAKY]:
                await tx.code_checks.postpone(
                    taken, Reason.SANDBOX_NO_ENGINE, now + timedelta(hours=1), "no socket\x1b[31m"
                )
            elif taken.hotkey == HOTKEYS[SLOW]:
                await tx.code_checks.end(taken, "inconclusive", Reason.SANDBOX_TESTS, now, "no test")
    await world.play()
    return world


async def _judge(tx: Transaction, check: CodeCheck, report: CodeReport, now: datetime) -> None:
    stored = await tx.rounds.get(check.round_id)
    assert stored is not None
    assert stored.input is not None
    scores = version(stored.input.scoring_version)
    (ran,) = [
        one
        for one in (await tx.submissions.results(check.round_id)).answers(check.task_id, WorkflowSubmission)
        if one.hotkey == check.hotkey
    ]
    outcome = fill_run(scores, measure(CODE, ran.plan, ran.run, 0.0), report)
    assert await tx.code_checks.end(check, "done", Reason.QUALITY_JUDGED, now, "", Judged(report, outcome.score.score))


def plan(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
    number = NUMBERS[signer.hotkey]
    task = next(task for task in (RAG, AGENT, CODE, TRANSFORM) if task.goal == dispatch.goal.goal)
    document = plan_document(task, *PLANS[number])
    document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
    signed = signer.sign_document(msgspec.convert(document, WorkflowPlan))
    return ScriptedReply(msgspec.json.encode(signed), seconds=1.0 + number / 2)
