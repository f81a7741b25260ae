"""A store with rounds of assessments and workflows, played once, and its log."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

from waiting_world import CAT, CODE, RAG, TASK, judge_all, planner
from workflow_builders import ScriptedServices, Try
from world import VALIDATOR, World, garbage, honest, on_virtual_time, tasks_of_all_types

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_run import StepOutput
from sssa.scoring import Schedule
from validator.audit.export import audit_lines
from validator.miners.scripted import ScriptedReply
from validator.rounds.receipts import close_epoch
from validator.store import open_store
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource

ROUNDS: Final = 6
MINERS: Final = tuple(Signer.from_uri(f"//Miner//{number}").hotkey for number in range(6))


async def play(url: str) -> None:
    """Rounds of assessments and workflows; the code of round 0 is judged after it and counted in round 1."""
    async with open_store(url, create=True) as store:
        world = World(
            store,
            script=_mixed,
            source=MemorySource(tasks_of_all_types(each=1)[:2]),
            goals=MemoryGoals((TASK, RAG)),
            planner=planner,
        )
        world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({"1.0.0": 0}))
        world.run_plans_on(ScriptedServices(world.clock, {"say": [Try(1.0, 0.01, None, StepOutput(CAT, CODE, None))]}))
        for _ in range(ROUNDS):
            await on_virtual_time(world, world.service.one_round())
            await judge_all(world)
        await on_virtual_time(world, world.service.one_round())  # counts what is judged last
        await close_epoch(store, VALIDATOR, world.clock)


def _mixed(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return garbage(signer, dispatch) if signer.hotkey == MINERS[5] else honest(signer, dispatch)


def put(played: Path, url: str) -> str:
    """Make a store like the one that was played."""
    if url.startswith("sqlite"):
        shutil.copy(played, url.removeprefix("sqlite:///"))
    return url


async def log_of(url: str) -> bytes:
    """Return the output of `audit export`."""
    async with open_store(url) as store, store.read() as tx:
        numbers = range(await tx.receipts.count())
        return b"".join([data + b"\n" for number in numbers async for data in audit_lines(tx, number)])
