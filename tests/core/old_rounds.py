"""A store whose rounds may be archived, played once, and what readers say of it."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from code_world import CAT, CODE, RAG, TASK, judge_all, planner
from workflow_world import ScriptedServices, Try
from world import VALIDATOR, World, garbage, honest, on_virtual_time, tasks_of_all_types

from validator.audit.documents import round_document
from validator.audit.explain.miner import explain_miner
from validator.audit.explain.round_explanation import explain_round
from validator.audit.log.export import audit_lines
from validator.audit.replay.round_replay import replay_round
from validator.audit.views import miner_list
from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Dispatch
from validator.protocol.signatures import Signer
from validator.protocol.workflow_run import StepOutput
from validator.rounds.receipts import close_epoch
from validator.scoring import Schedule
from validator.store import Store, open_store
from validator.store.archiving import Archiver
from validator.store.copying import copy_store
from validator.store.rows import ArchivedSpan
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource

ROUNDS: Final = 6
KEPT: Final = 2
ARCHIVED: Final = ROUNDS - KEPT
LATER: Final = datetime(2200, 1, 1, tzinfo=UTC)
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
        world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({"1.1.0": 0}))
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


async def put_into(played: Path, url: str) -> str:
    """As `put`, also into Postgres."""
    if url.startswith("postgresql"):
        await copy_store(f"sqlite:///{played}", url, lambda _table, _rows: None)
        return url
    return put(played, url)


def archiver(store: Store, folder: Path, **changes: Any) -> Archiver:
    usual: dict[str, Any] = {"signer": VALIDATOR, "keep": KEPT + 1, "file_rounds": 3}
    return Archiver(store=store, folder=folder, now=datetime.now(UTC), **(usual | changes))


async def archived(url: str, folder: Path, **changes: Any) -> list[ArchivedSpan]:
    """Archive all but the newest rounds."""
    async with opened(url) as store:
        return [span async for span in archiver(store, folder, **changes).run(LATER)]


@asynccontextmanager
async def opened(url: str, folder: Path | None = None) -> AsyncIterator[Store]:
    async with open_store(url, archive=folder) as store:
        yield store


async def log_of(url: str, folder: Path | None = None) -> bytes:
    """Return the output of `audit export`."""
    async with opened(url, folder) as store, store.read() as tx:
        numbers = range(await tx.receipts.count())
        return b"".join([data + b"\n" for number in numbers async for data in audit_lines(tx, number)])


async def told(url: str, folder: Path | None = None) -> list[object]:
    """Return the output of replay, explain, proofs and listings."""
    now = datetime(2100, 1, 1, tzinfo=UTC)
    async with opened(url, folder) as store, store.read() as tx:
        found: list[object] = [await miner_list(tx, now), await tx.rounds.listing(100)]
        for round_id in (0, 1, ARCHIVED):
            found += [await replay_round(tx, round_id), await round_document(tx, round_id)]
            for task in await tx.tasks.of_round(round_id):
                found.append(await tx.proofs.of_task(task.task_id))
        found += [await explain_miner(tx, MINERS[5], 100, now), await explain_round(tx, 1, MINERS[0])]
        return found
