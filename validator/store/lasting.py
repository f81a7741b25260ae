"""Writing that outlasts a database that is away: again and again, and never twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Generic, NamedTuple, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.errors import StoreAwayError
from validator.store.transaction import Transaction

PAUSE_S: Final = 1.0
PATIENCE_S: Final = 60.0
"""For what is better not done at all than done later."""
T = TypeVar("T")
Begin = Callable[[], AbstractAsyncContextManager[Transaction]]
Tell = Callable[[StoreAwayError], None]


class _Sent(NamedTuple, Generic[T]):
    """A commit that was sent: its transaction's id (None on SQLite, where a failed commit did not happen)."""

    xid: int | None
    result: T


class Patience:
    """What one store's writers share while its database is away: one of them tries at a time.

    Attributes:
        waiting: how many wait.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self._turn = asyncio.Lock()

    async def write(
        self, begin: Begin, work: Callable[[Transaction], Awaitable[T]], tell: Tell, patience_s: float | None
    ) -> T:
        """Return what `work` returns of the transaction that was committed. See `Store.lasting`."""
        attempt = _Attempt(begin, work)
        try:
            return await attempt.once()
        except StoreAwayError as error:
            tell(error)
            trouble = error
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.waiting += 1
        try:
            async with self._turns(patience_s, trouble):
                while True:
                    await asyncio.sleep(PAUSE_S)
                    try:
                        return await attempt.once()
                    except StoreAwayError as error:
                        tell(error)
                        if patience_s is not None and loop.time() - began >= patience_s:
                            raise
        finally:
            self.waiting -= 1

    @asynccontextmanager
    async def _turns(self, patience_s: float | None, trouble: StoreAwayError) -> AsyncIterator[None]:
        """Hold the turn, if it comes before the patience is over: who has it may have more."""
        try:
            async with asyncio.timeout(patience_s):
                await self._turn.acquire()
        except TimeoutError:
            raise trouble from None
        try:
            yield
        finally:
            self._turn.release()


class _Attempt(Generic[T]):
    def __init__(self, begin: Begin, work: Callable[[Transaction], Awaitable[T]]) -> None:
        self._begin = begin
        self._work = work
        self._sent: _Sent[T] | None = None

    async def once(self) -> T:
        """Do the work in one transaction, unless the one before arrived after all."""
        async with self._begin() as tx:
            sent = self._sent
            if sent is None or not await _arrived(tx.connection, sent.xid):
                self._sent = None
                result = await self._work(tx)
                sent = self._sent = _Sent(await _xid(tx.connection), result)
        return sent.result


async def _xid(connection: AsyncConnection) -> int | None:
    if connection.dialect.name != "postgresql":
        return None
    return int(await connection.scalar(text("SELECT txid_current()")) or 0)


async def _arrived(connection: AsyncConnection, xid: int | None) -> bool:
    """Whether that transaction was committed. Its turn is over: this connection has the next one."""
    if xid is None:
        return False
    return bool(await connection.scalar(text("SELECT txid_status(:xid) = 'committed'"), {"xid": xid}))
