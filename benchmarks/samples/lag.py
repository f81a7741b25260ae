"""Lag of the event loop, sampled while a benchmark runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

_EVERY_S: Final = 0.005


@asynccontextmanager
async def lags() -> AsyncIterator[list[float]]:
    """Collect, while it is entered, how many seconds late each of many timers came."""
    lags_s: list[float] = []
    watching = asyncio.ensure_future(_watch(lags_s))
    try:
        yield lags_s
    finally:
        watching.cancel()


def p99(values: list[float]) -> float:
    """Return what 99 of 100 are not above."""
    ordered = sorted(values)
    return ordered[int(0.99 * (len(ordered) - 1))]


async def _watch(lags_s: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _EVERY_S
        await asyncio.sleep(_EVERY_S)
        lags_s.append(loop.time() - due)
