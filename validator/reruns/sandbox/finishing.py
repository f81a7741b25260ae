"""Work that is done to its end, because what it removes would stay behind."""

import asyncio
from collections.abc import Awaitable


async def whatever_happens(work: Awaitable[None]) -> None:
    """Do the work to its end even if this task is cancelled meanwhile; then be cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
