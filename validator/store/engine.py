"""An open store, and its transactions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from validator.protocol.text import printable
from validator.store.archive.shelf import ReadPlaces, Shelf
from validator.store.connect import reading, writing
from validator.store.errors import StoreAwayError, StoreBusyError, StoreError, StoreLostError
from validator.store.lasting import Patience
from validator.store.locks import NoLock, WriterLock, take_turn
from validator.store.place import Place
from validator.store.repositories.base import PLACES
from validator.store.schema import unreachable
from validator.store.transaction import Transaction
from validator.store.trouble import reading_only, told
from validator.store.urls import StoreUrl

T = TypeVar("T")
_PROBE: Final = {"room": "x" * 8192}


class Store:
    """An open store. Use it from one event loop; close it, or use it as a context manager.

    Args:
        engine: connected to tables of this version.
        url: where it is.
        lock: the claim to write, or none.
        place: watches the file of a SQLite store that is written.
        archive: the folder with the files of old rounds.

    Attributes:
        tell: called with every trouble that a lasting write meets.
    """

    tell: Callable[[StoreAwayError], None]

    def __init__(
        self,
        engine: AsyncEngine,
        url: StoreUrl,
        lock: WriterLock,
        place: Place | None = None,
        archive: Path | None = None,
    ) -> None:
        self._engine = engine
        self._writing = writing(engine)
        self._reading = reading(engine)
        self._url = url
        self._lock = lock
        self._place = place
        self._shelf = Shelf(archive)
        self._patience = Patience()
        self.tell = lambda _: None
        self._turn = asyncio.Lock()
        self._writer_task: asyncio.Task[object] | None = None

    def __repr__(self) -> str:
        return f"<Store {self.location}>"

    @property
    def location(self) -> str:
        """The url without user and password, for messages."""
        return self._url.shown

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """One write transaction: committed at the end, rolled back on any exception.

        At most one is open in the whole database. Within this store they queue in order; keep network and waiting out
        of them, and do not nest them.

        Raises:
            StoreBusyError: another program's write transaction did not end in time.
            StoreAwayError: the database is gone, or takes no write (StoreNoWriteError), now or before the commit.
            StoreLostError: another process writes to it now, or the file is damaged or not at its path: stop.
            StoreError: this task has one open already.
        """
        if self._writer_task is not None and self._writer_task is asyncio.current_task():
            raise StoreError("a write transaction is open in this task already; use that one")
        try:
            async with self._turn, AsyncExitStack() as stack:
                self._writer_task = asyncio.current_task()
                stack.callback(self._turn_over)
                if self._place is not None:
                    await self._place.require_whole()
                try:
                    connection = await stack.enter_async_context(self._writing.begin())
                    await take_turn(connection)
                    await self._lock.check(connection)
                except DBAPIError as error:
                    raise told(self._url, error) or StoreBusyError(
                        f"{self.location}: {printable(str(error.orig))}"
                    ) from None
                yield Transaction(connection)
        except DBAPIError as error:
            if (trouble := told(self._url, error)) is None:
                raise
            raise trouble from None

    async def lasting(self, work: Callable[[Transaction], Awaitable[T]], *, patience_s: float | None = None) -> T:
        """Return what `work` returns of a write transaction of its own, as soon as the database takes it.

        While the database is away or takes no write this waits and begins anew; `tell` learns of it. What the database
        committed although its answer was lost is not done again.

        Args:
            work: done in one transaction, perhaps several times, of which one counts: no effects elsewhere.
            patience_s: after so long the trouble is raised; None waits for as long as it takes.

        Raises:
            StoreAwayError: the patience was over.
            StoreError: as `begin`.
        """
        return await self._patience.write(self.begin, work, self.tell, patience_s)

    async def hold(self) -> None:
        """Read once: from now on the pool has a connection by which SQLite shows that the file is in use."""
        async with self.read() as tx:
            await tx.rounds.next_id()

    @property
    def waiting(self) -> int:
        """How many lasting writes wait for the database."""
        return self._patience.waiting

    async def probe(self) -> None:
        """Write a little that nobody reads, for real.

        Raises:
            StoreError: as `begin`.
        """
        async with self.begin() as tx:
            if self._url.path is None:
                await tx.connection.execute(text("SELECT pg_logical_emit_message(true, 'validator', :room)"), _PROBE)
                return
            if self._place is not None:
                await asyncio.to_thread(self._place.require_room)
            # To what it is: the page is written all the same.
            version = await tx.connection.scalar(text("PRAGMA user_version"))
            await tx.connection.execute(text(f"PRAGMA user_version = {int(version or 0)}"))

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        """One read transaction: a single consistent view, not disturbed by a writer and not able to write.

        Records that are in archive files are read from there, if the store was opened with their folder.

        Raises:
            StoreAwayError: the database is gone; StoreUnreachableError when it was before.
            StoreDamagedError: the file is.
        """
        try:
            async with AsyncExitStack() as stack:
                try:
                    connection = await stack.enter_async_context(self._reading.begin())
                    connection = await connection.execution_options(**{PLACES: ReadPlaces(self._shelf)})
                except DBAPIError as error:
                    trouble = told(self._url, error)
                    raise trouble if isinstance(trouble, StoreLostError) else unreachable(self._url, error) from None
                yield Transaction(connection)
        except DBAPIError as error:
            if reading_only(error) or (trouble := told(self._url, error)) is None:
                raise
            raise trouble from None

    async def size(self) -> int:
        """Return how many bytes the database takes; of a SQLite file with its log.

        Raises:
            StoreError: as `read`.
        """
        path = self._url.path
        if path is not None:
            return await asyncio.to_thread(_bytes_of, path)
        async with self.read() as tx:
            return int(await tx.connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)

    async def close(self) -> None:
        """Close all connections, then give up the writer lock."""
        try:
            await self._engine.dispose()
        finally:
            await self._lock.release()
            self._lock = NoLock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _turn_over(self) -> None:
        self._writer_task = None


def _bytes_of(path: Path) -> int:
    """Return the size of the file, its log and its index of that; what is not there takes nothing."""
    files = (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm")))
    return sum(file.stat().st_size for file in files if file.exists())
