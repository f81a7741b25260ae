"""Benchmark of opening a round on a long past, compared with an empty past; HISTORY=500,5000,50000 rounds."""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from harness import Case
from samples.aged_store import age, hotkey

from validator.store import open_store

MINERS: Final = 64
_KEPT: Final = ("state_miners", "state_shared")


def cases() -> Iterator[Case]:
    """Yield a young store and an old one: they take the same."""
    with tempfile.TemporaryDirectory(prefix="aged") as folder:
        for rounds in map(int, os.environ.get("HISTORY", "500,5000,50000").split(",")):
            path = Path(folder) / f"{rounds}.sqlite"
            url = age(path, rounds, [hotkey(number) for number in range(MINERS)])
            yield Case(
                f"what opening a round reads of the past, {MINERS} miners, {rounds:,} rounds",
                "ms",
                partial(_read, url, rounds),
                partial(_bare, path),
                "the kept rows alone",
                "≤ 50",
            )


def _read(url: str, rounds: int) -> float:
    """Return the milliseconds of one look, wall clock; the connection is open."""
    return 1e3 * asyncio.run(seconds_of_reading(url, rounds))


async def seconds_of_reading(url: str, rounds: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return what one look takes at least on a clock, that of the wall; the connection is open."""
    everybody = [hotkey(number) for number in range(MINERS)]
    async with open_store(url) as store:
        took = []
        for _ in range(5):
            began = clock()
            async with store.read() as tx:
                await tx.acts.take(rounds)
                await tx.state.of(everybody)
                await tx.executions.results()
            took.append(clock() - began)
    return min(took)


def _bare(path: Path) -> float:
    with closing(sqlite3.connect(path)) as connection:
        began = time.perf_counter()
        for table in _KEPT:
            connection.execute(f"SELECT * FROM {table}").fetchall()
        return 1e3 * (time.perf_counter() - began)
