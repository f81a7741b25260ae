"""The local network's code: written by its planners' plans, judged by the runner itself, and paid (SPEC 12)."""

import asyncio
from functools import cache
from pathlib import Path

import msgspec
from code_world import ended, until, working
from runner_kit import judged
from workflow_builders import SERVICE
from workflow_world import signed_answer
from world import World, on_virtual_time

from localnet.goals import local_goals
from localnet.library import WINDOWS
from localnet.planner.server import LocalPlanner
from localnet.planner.skills import HABITS
from localnet.services.catalogue import BY_NAME, SERVICES, ServiceAddress
from validator.kinds.workflow.services import StepReply
from validator.miners.scripted import ScriptedReply
from validator.protocol.code_report import CodeReport
from validator.protocol.signatures import Signer
from validator.protocol.workflow_plan import WorkflowDispatch
from validator.protocol.workflow_run import StepRequest
from validator.protocol.workflow_task import Tool
from validator.reruns.sandbox.code import CodeJob
from validator.reruns.sandbox.scripted_code import ScriptedCheck, ScriptedCodeSandbox
from validator.sources import Clock
from validator.store import open_store
from validator.tasks.goals import MemoryGoals
from validator.tasks.memory import MemorySource

CONDUCTS = ("skilled", "serial", "forgetful")
ADDRESSES = {service: ServiceAddress("http://127.0.0.1:9", SERVICE.hotkey) for service in SERVICES}
(GOAL,) = [task for task in local_goals(ADDRESSES, WINDOWS) if task.type == "code"]


class LocalServices:
    """The local services' own actions, without HTTP."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def call(self, tool: Tool, body: bytes, _timeout_s: float) -> StepReply:
        request = msgspec.json.decode(body, type=StepRequest)
        action = BY_NAME[tool.service, tool.action]  # type: ignore[index]
        await self._clock.sleep(action.seconds)
        return StepReply(None, signed_answer(body, action.perform(request.params), action.cost_tao))


def world_of(store: object) -> tuple[World, dict[str, str]]:
    """One planner of each conduct; hotkey to conduct."""
    conducts = {Signer.from_uri(f"//Miner//{number}").hotkey: name for number, name in enumerate(CONDUCTS)}

    def plan(signer: Signer, dispatch: WorkflowDispatch) -> ScriptedReply:
        planner = LocalPlanner(signer, HABITS[conducts[signer.hotkey]], frozenset(), world.clock)
        return ScriptedReply(msgspec.json.encode(planner.plan(dispatch)), seconds=0.5)

    world = World(store, miners=len(CONDUCTS), source=MemorySource(), goals=MemoryGoals([GOAL]), planner=plan)  # type: ignore[arg-type]
    world.run_plans_on(LocalServices(world.clock))
    return world, conducts


async def test_the_local_networks_code_is_judged_and_paid(sqlite_url: str, tmp_path: Path) -> None:
    @cache
    def report_of(code: str, tests: str) -> CodeReport:
        return msgspec.convert(judged(tmp_path, code, tests).report, CodeReport)

    async with open_store(sqlite_url) as store:
        world, conducts = world_of(store)
        jobs: list[CodeJob] = []

        def script(job: CodeJob) -> ScriptedCheck:
            jobs.append(job)
            return ScriptedCheck(report_of(job.code, job.tests))

        assert (await on_virtual_time(world, world.service.one_round())).outcome is not None
        async with working(world, ScriptedCodeSandbox(script, world.clock)):
            found = await asyncio.wait_for(until(world, ended), 60)
        assert {one.report for one in found} == {CodeReport(1, 1, 0)}
        assert "def slugify" in jobs[0].code
        assert (await on_virtual_time(world, world.service.one_round())).outcome is not None
        async with store.read() as tx:
            paid = {conducts[entry.hotkey]: entry.value for entry in await tx.windows.of_round(1)}
    assert set(paid) == set(CONDUCTS)
    assert min(paid["skilled"], paid["serial"]) > 0.85
    assert 0.5 > paid["forgetful"] > 0.3  # one of two steps
