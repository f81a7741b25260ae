"""Time limits on a Clock, so that they hold on virtual time too."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from validator.sources import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, call: Coroutine[Any, Any, T]) -> T:
    """Return what `call` returns, if it does so in time.

    Raises:
        TimeoutError: it did not and was cancelled; what it has done until then is not known.
    """
    work = asyncio.create_task(call)
    timer = asyncio.create_task(clock.sleep(seconds))
    try:
        await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise TimeoutError(f"no answer within {seconds:g} s")
    finally:
        for task in (work, timer):
            task.cancel()
        # Not awaited: a call that is stuck may be slow to take its cancellation.
        work.add_done_callback(_read_result)


def _read_result(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
