"""A round of workflow tasks whose plans and runs are at their limits, an emoji in every text, played in one process.

Run as a script, it plays the round into a folder: its miners and services are in the process as well.
"""

import asyncio
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
from explained import ExplainedWorld
from full_answers import with_emoji
from planned import GoalsInTurn
from workflow_builders import ScriptedServices, Try, make_workflow, on_virtual_time, plan_document, step
from world import honest

from sssa.kinds.judging import Expected
from sssa.kinds.workflow.gates import AcceptedPlan
from sssa.kinds.workflow.kind import WORKFLOW
from sssa.protocol import limits
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan
from sssa.protocol.workflow_run import StepOutput
from sssa.sources import SeededRandom, VirtualClock
from validator.kinds.assessment.supply import Bundles
from validator.kinds.workflow.executor import PlanRunner
from validator.kinds.workflow.supply import Goals
from validator.miners.scripted import ScriptedReply
from validator.store import open_store
from validator.tasks.source import MemorySource

_MINERS: Final = 5
_NODES: Final = [f"step{number}" for number in range(limits.MAX_PLAN_NODES)]
_EDGES: Final = [(one, other) for i, one in enumerate(_NODES) for other in _NODES[i + 1 :]]
_MARGIN: Final = 64  # bytes of a document around its text


def _text(dice: random.Random, size: int) -> str:
    return with_emoji("".join(dice.choices("abcdefghijklmnopqrstuvwxyz ", k=size - _MARGIN)))


_DICE: Final = random.Random("full plans")
_TEXT, _DATA = _text(_DICE, limits.MAX_STEP_TEXT), {"text": _text(_DICE, limits.MAX_STEP_DATA)}
_CODE: Final = _text(_DICE, limits.MAX_STEP_OUTPUT - limits.MAX_STEP_TEXT - limits.MAX_STEP_DATA)
_SERVED: Final = {name: [Try(0.5, 0.001, output=StepOutput(_TEXT, _CODE, _DATA))] for name in _NODES}
_TESTS: Final = f"def test_it():\n    assert True  # {_text(_DICE, limits.MAX_STEP_CODE - _MARGIN)}"
_GOALS: Final = {
    task.goal: task
    for task in (
        make_workflow("rag", goal="Say it all.", reference={"text": _TEXT}),
        make_workflow("code", goal="Write it all.", reference={"tests": _TESTS}),
    )
}


class _Runner(PlanRunner):
    """Runs each plan on its own virtual time."""

    async def run(
        self, round_id: str, expected: Expected[GoalTask], accepted: AcceptedPlan, seconds: float
    ) -> WorkflowSubmission:
        clock = VirtualClock()
        runner = PlanRunner(ScriptedServices(clock, _SERVED), clock)
        return await on_virtual_time(clock, runner.run(round_id, expected, accepted, seconds))


def _plan(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
    dice = random.Random(signer.hotkey + dispatch.nonce)
    steps = [step(name, {"text": _text(dice, limits.MAX_PARAMS)}) for name in _NODES]
    document: dict[str, Any] = plan_document(_GOALS[dispatch.goal.goal], steps, _EDGES)
    document["task"] = {"goal_sha256": dispatch.goal_sha256, "nonce": dispatch.nonce}
    return ScriptedReply(msgspec.json.encode(signer.sign_document(msgspec.convert(document, WorkflowPlan))), 1.0)


async def play(url: str) -> None:
    """Play a round of two tasks with five plans each into a new store."""
    async with open_store(url, create=True) as store:
        source = MemorySource()
        world = ExplainedWorld(store, source, honest, dict.fromkeys(range(_MINERS), (SkillType.WORKFLOW,)))
        random_ = SeededRandom("full plans")
        goals = Goals(GoalsInTurn([*_GOALS.values()]), random_)
        world.preparer = replace(world.preparer, supplies=(Bundles(source, None, random_), goals))
        runner = _Runner(ScriptedServices(world.clock, {}), world.clock)
        world.dispatcher = replace(world.dispatcher, runners={WORKFLOW.name: runner})
        world.planner = _plan
        await world.play()
        async with store.read() as tx:
            results = await tx.submissions.results(0)
        runs = [one.run for one in results.passed if isinstance(one, WorkflowSubmission)]
        steps = [step.outcome for run in runs for step in run.steps]
        assert steps == [Reason.STEP_SUCCEEDED] * (2 * _MINERS * limits.MAX_PLAN_NODES), steps


def configured(folder: Path) -> tuple[str, Path]:
    """Return the url of a store in a folder, and the settings that name it."""
    url, config = f"sqlite:///{folder}/store.sqlite", folder / "validator.toml"
    chain = f'[chain]\nkind = "simulated"\nstate = "{folder}/chain.json"\n'
    config.write_text(f'[validator]\nnetuid = 1\n[wallet]\nuri = "//Validator"\n{chain}[store]\nurl = "{url}"\n')
    return url, config


if __name__ == "__main__":
    asyncio.run(play(configured(Path(sys.argv[1]))[0]))
