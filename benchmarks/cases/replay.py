"""Benchmark of replay: rounds recomputed from a store."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial

from harness import Case, per_second
from samples.played_rounds import ROUNDS, played

from validator.audit.replay import replay_rounds
from validator.store import open_store


def cases() -> Iterator[Case]:
    """Yield the rate of one process."""
    yield Case(
        "rounds replayed, 60 answers each",
        "rounds/s",
        per_second(partial(_replay, played()), of=ROUNDS, clock=time.process_time),
        demand="≥ 30",
        runs=5,
    )


def _replay(url: str) -> None:
    asyncio.run(_replayed(url))


async def _replayed(url: str) -> None:
    async with open_store(url) as store:
        verdicts = [one.verdict async for one in replay_rounds(store, range(ROUNDS))]
    assert verdicts == ["equal"] * ROUNDS
