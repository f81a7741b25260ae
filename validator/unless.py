"""Work that a request to stop ends."""

import asyncio
from collections.abc import Awaitable, Callable


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
