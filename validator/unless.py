"""Work that a request to stop ends."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any


async def unless_set(event: asyncio.Event, work: Callable[[], Awaitable[None]]) -> bool:
    """Do `work`, but not once `event` is set, nor longer than until it is; return whether it was done.

    Raises:
        Exception: whatever `work` raises before the event is set.
    """
    if event.is_set():
        return False
    working, asked = asyncio.ensure_future(work()), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        asked.cancel()
        dropped = working.cancel()
    if not dropped:
        await working
    return not dropped


async def ended(tasks: Collection[asyncio.Task[Any]], again_s: float = 1.0) -> None:
    """Cancel tasks, and again every `again_s` seconds, until they are done; what they raise is dropped.

    One cancellation can be lost: where it meets a connection that a pool hands out at that moment, the pool keeps it.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=again_s)
    await asyncio.gather(*tasks, return_exceptions=True)
