"""The watch over the store: a small write that succeeds says nothing of a large one that waits."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sssa.sources import VirtualClock
from validator.daemon.watches import StoreWatch
from validator.health.board import Board
from validator.store.errors import StoreNoWriteError


async def advanced(clock: VirtualClock) -> None:
    for _ in range(6):
        await clock.advance(5)
        await asyncio.sleep(0.01)  # turns of the loop for the probe


async def test_a_store_takes_no_write_while_one_waits_and_takes_them_again_when_none_does() -> None:
    async def probe() -> None:
        """Succeed."""

    clock = VirtualClock()
    board = Board(clock)
    took: list[float] = []
    store: Any = SimpleNamespace(probe=probe, waiting=1)
    watch = StoreWatch(store, clock, board, took.append)
    watch.report_outage(StoreNoWriteError("disk full"))
    watching = asyncio.create_task(watch.run())
    await advanced(clock)
    assert (board.is_active("store_no_write"), len(took) >= 2) == (True, True)
    store.waiting = 0
    await advanced(clock)
    assert not board.is_active("store_no_write")
    watching.cancel()
    await asyncio.wait({watching})
