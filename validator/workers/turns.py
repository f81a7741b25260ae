"""Turns that are given round robin among keys, so that nobody waits behind all of another's calls."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """A semaphore with a queue per key; the keys are served one after the other.

    Args:
        many: how many turns there are at a time.
    """

    def __init__(self, many: int) -> None:
        self._free = many
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn of `key`, and hold it."""
        await self._acquire(key)
        try:
            yield
        finally:
            self._free += 1
            self._pass_on()

    async def _acquire(self, key: str) -> None:
        if self._free:
            self._free -= 1
            return
        called = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():  # called and cancelled at the same moment
                self._free += 1
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._free and self._waiting:
            key = next(iter(self._waiting))
            queue = self._waiting.pop(key)
            called = queue.popleft()
            if queue:
                self._waiting[key] = queue  # at the end: the other keys come first
            if not called.done():
                self._free -= 1
                called.set_result(None)
