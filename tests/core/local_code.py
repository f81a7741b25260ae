"""The local network's code goal, its planners and its services' actions, on virtual time."""

from collections.abc import Sequence

import msgspec
from workflow_builders import SERVICE, signed_answer
from world import World

from localnet.library import WINDOWS
from localnet.planner.planner_server import LocalPlanner
from localnet.planner.skills import HABITS
from miner.goals.goal_files import local_goals
from miner.services.catalogue import BY_NAME, SERVICES, ServiceAddress
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_plan import WorkflowDispatch
from sssa.protocol.workflow_run import StepRequest
from sssa.protocol.workflow_task import Tool, WorkflowTask
from sssa.sources import Clock
from validator.kinds.workflow.step import StepReply
from validator.miners.scripted import ScriptedReply
from validator.outgoing.stalls import StallsSince
from validator.store import Store
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource

CONDUCTS = ("skilled", "serial", "forgetful")
ADDRESSES = {service: ServiceAddress("http://127.0.0.1:9", SERVICE.hotkey) for service in SERVICES}
GOAL = local_goals(ADDRESSES, WINDOWS)["code-slugify"]


class LocalServices:
    """The local services' own actions, without HTTP."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def call(self, tool: Tool, body: bytes, _timeout_s: float, _stalls: StallsSince) -> StepReply:
        request = msgspec.json.decode(body, type=StepRequest)
        action = BY_NAME[tool.service, tool.action]  # type: ignore[index]
        await self._clock.sleep(action.seconds)
        return StepReply(None, signed_answer(body, action.perform(request.params), action.cost_tao))

    async def close(self) -> None:
        """Hold nothing."""


def local_code_world(
    store: Store, conducts: Sequence[str] = CONDUCTS, goals: Sequence[WorkflowTask] = (GOAL,)
) -> tuple[World, dict[str, str]]:
    """One planner of each conduct; hotkey to conduct."""
    named = {Signer.from_uri(f"//Miner//{number}").hotkey: name for number, name in enumerate(conducts)}

    def plan(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
        planner = LocalPlanner(signer, HABITS[named[signer.hotkey]], frozenset(), world.clock)
        return ScriptedReply(msgspec.json.encode(planner.plan(dispatch)), seconds=0.5)

    world = World(store, miners=len(conducts), source=MemorySource(), goals=MemoryGoals(goals), planner=plan)
    world.run_plans_on(LocalServices(world.clock))
    return world, named
