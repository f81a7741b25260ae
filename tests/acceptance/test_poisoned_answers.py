"""Answers that once stopped a validator permanently: the round settles, the daemon ends, a store with one recovers."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from daemon_process import Miners, Site, honest, until
from hostile import KINDS, Kind
from hostile.kinds import Case, is_runtime_primary
from process_watch import gone

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.store import Store, open_store

pytestmark = pytest.mark.attack

POISONS = [
    kind
    for kind in KINDS
    if kind.name
    in {
        "string that never ends",
        "duplicate at the end",
        "empty gzip members",
        "line of empty lists",
        "line with a duplicate at its end",
    }
]
WINDOWS = Windows((0, 30), (0, 30))
DispatchKey = tuple[str, str]


class Poisoners(Miners):
    """Honest miners, but for the first answers, each of which is one poison; one task may be held.

    Attributes:
        poisoned: which dispatch got which poison.
        held: the task whose dispatches wait for `release`; none unless `holding`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answerer = self._poison
        self.poisoned: dict[DispatchKey, Kind] = {}
        self.holding = False
        self.held: str | None = None
        self.release = asyncio.Event()

    async def _poison(self, signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes | web.StreamResponse:
        if self.holding and self.held is None:
            self.held = dispatch.task_id
        if dispatch.task_id == self.held:
            await self.release.wait()
            return await honest(signer, dispatch, request)
        left = [kind for kind in POISONS if kind not in self.poisoned.values()]
        kind = next((kind for kind in left if not kind.traced or is_runtime_primary(dispatch)), None)
        if kind is None:
            return await honest(signer, dispatch, request)
        self.poisoned[dispatch.task_id, signer.hotkey] = kind
        return await kind.make(Case(random.Random(1), signer, dispatch, request))


@pytest.fixture
async def poisoners() -> AsyncIterator[Poisoners]:
    miners = Poisoners()
    await miners.start()
    yield miners
    await miners.close()


async def check(store: Store, miners: Poisoners, others: str) -> None:
    """Every poison ended in a reason of its kind, and cost nobody else anything."""
    async with store.read() as tx:
        dispatches = await tx.dispatches.of_round(0)
    reasons = {(d.key.task_id, d.key.hotkey): d.reason for d in dispatches}
    assert len(miners.poisoned) == len(POISONS)
    for asked, kind in miners.poisoned.items():
        assert reasons[asked] in kind.outcomes
    rest = Counter(d.state for d in dispatches if (d.key.task_id, d.key.hotkey) not in miners.poisoned)
    assert rest == Counter({"answered": 60 - len(POISONS)} if others == "answered" else {"answered": 50, "void": 5})


async def settled(store: Store, round_id: int) -> bool:
    async with store.read() as tx:
        stored = await tx.rounds.get(round_id)
    return stored is not None and stored.record.state == "settled"


async def test_a_round_with_poison_settles_and_the_daemon_ends(
    poisoners: Poisoners, sqlite_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, sqlite_url, poisoners, WINDOWS)
    async with site.forked() as process:
        store = await open_store(sqlite_url)
        await until(lambda: settled(store, 0), site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0, site.log.read_text()[-3000:]
    await gone(process.pid)
    await check(store, poisoners, "answered")
    await store.close()


async def test_a_store_with_poison_in_an_open_round_is_settled_at_the_next_start(
    poisoners: Poisoners, store_url: str, tmp_path: Path
) -> None:
    poisoners.holding = True
    site = Site(tmp_path, store_url, poisoners, WINDOWS)
    async with site.forked() as process:
        store = await open_store(store_url)

        async def all_others_stored() -> bool:
            async with store.read() as tx:
                records = await tx.dispatches.of_round(0) if await tx.rounds.get(0) else ()
            return Counter(r.state for r in records) == {"answered": 55, "sent": 5}

        await until(all_others_stored, site)
        process.kill()
        await process.wait()
    await gone(process.pid)
    poisoners.release.set()
    async with site.forked() as process:
        await until(lambda: settled(store, 0), site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0, site.log.read_text()[-3000:]
    await check(store, poisoners, "void")
    await store.close()
