"""Letting virtual time pass next to what waits for it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from virtual_time import all_wait

from sssa.sources import VirtualClock

T = TypeVar("T")
_STEPS = 20_000


async def pumped(clock: VirtualClock, call: Coroutine[Any, Any, T], step_s: float = 0.25) -> T:
    """Return what `call` returns, while time passes in steps for as long as it takes."""
    task = asyncio.ensure_future(call)
    for _ in range(_STEPS):
        await all_wait()
        if task.done():
            return task.result()
        await clock.advance(step_s)
    task.cancel()
    raise AssertionError("it never came to an end")
