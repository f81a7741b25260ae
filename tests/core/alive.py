"""Count of live Python memory blocks, which a repeated operation must not increase."""

import asyncio
import gc
import sys

_TIMERS = 1_000  # cancelled ones, in such a majority that the loop throws them all away: by itself it keeps a hundred


async def blocks_alive() -> int:
    """Blocks in use once all garbage is gone; some take several searches, for what ends with others."""
    loop = asyncio.get_running_loop()
    for _ in range(_TIMERS):
        loop.call_later(60, gc.collect).cancel()
    await asyncio.sleep(0)
    for _ in range(3):
        gc.collect()
    return sys.getallocatedblocks()
