"""Writes that are counted: each is a row with its own moment, so that a lost or a doubled one shows."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

from sqlalchemy import select

from validator.store import Store, Transaction
from validator.store.tables import drains

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def moment(number: int) -> datetime:
    return BEGIN + timedelta(seconds=number)


async def written(store: Store) -> Counter[int]:
    """Return how many times each write is in the store."""
    async with store.read() as tx:
        rows = await tx.connection.execute(select(drains.c.requested_at))
        return Counter(round((row.requested_at - BEGIN).total_seconds()) for row in rows)


class Writers:
    """Writers at the same time on one store; `done` are the writes that were acknowledged."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.done: list[int] = []
        self._numbers = count()
        self._stopping = False
        self._more = asyncio.Event()

    async def _one(self) -> None:
        while not self._stopping:
            number = next(self._numbers)

            async def write(tx: Transaction, number: int = number) -> None:
                await tx.drains.ask(moment(number))

            await self.store.lasting(write)
            self.done.append(number)
            self._more.set()

    @asynccontextmanager
    async def running(self, many: int) -> AsyncIterator[None]:
        """Let them write; what is on its way at the end is awaited."""
        async with asyncio.TaskGroup() as group:
            for _ in range(many):
                group.create_task(self._one())
            try:
                yield
            finally:
                self._stopping = True

    async def more(self, many: int) -> None:
        """Wait until so many more are acknowledged."""
        wanted = len(self.done) + many
        while len(self.done) < wanted:
            self._more.clear()
            await self._more.wait()
