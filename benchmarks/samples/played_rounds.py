"""A store of rounds as they were played: twelve tasks each, sixty answers, on virtual time; and its log."""

import asyncio
import atexit
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from world import VALIDATOR, World, on_virtual_time, tasks_of_all_types

from samples.silent_log import drop_log
from sssa.sources import Clock
from validator.audit.export import audit_lines
from validator.rounds.receipts import close_epoch
from validator.store import open_store
from validator.tasks.source import MemorySource

ROUNDS: Final = 12


@cache
def played() -> str:
    """Return the url of a store that holds `ROUNDS` rounds, all settled, with the log closed behind them."""
    folder = tempfile.TemporaryDirectory(prefix="played")
    atexit.register(folder.cleanup)
    url = f"sqlite:///{Path(folder.name) / 'store.sqlite'}"
    asyncio.run(_play_and_close(url))
    return url


async def play(url: str, rounds: int, *, each: int = 2, create: bool = False) -> Clock:
    """Play so many rounds more into a store, `each` tasks of a type in each; return the clock behind them."""
    drop_log()
    async with open_store(url, create=create) as store:
        world = World(store, source=MemorySource(tasks_of_all_types(each=each)))
        for _ in range(rounds):
            await on_virtual_time(world, world.service.one_round())
    return world.clock


def exported(url: str) -> bytes:
    """Return the log of a store as `audit export` writes it."""
    return asyncio.run(_export(url))


async def _play_and_close(url: str) -> None:
    clock = await play(url, ROUNDS, create=True)
    async with open_store(url) as store:
        await close_epoch(store, VALIDATOR, clock)


async def _export(url: str) -> bytes:
    async with open_store(url) as store, store.read() as tx:
        numbers = range(await tx.receipts.count())
        return b"".join([data + b"\n" for number in numbers async for data in audit_lines(tx, number)])
