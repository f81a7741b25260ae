"""An open store, `Store`: its file or database, its write lock, and the transactions that every room asks it for."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from sssa.protocol.text import printable
from validator.store.connections import (
    Handles,
    make_engine,
    opened_to_read,
    reading,
    require_at_connect,
    use_wal,
    writing,
)
from validator.store.errors import (
    SchemaStateError,
    StoreAwayError,
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreLostError,
    StoreNoWriteError,
)
from validator.store.locks import FileLock, WriterLock, take_lock, take_turn
from validator.store.outages import Patience, forget_tokens, reading_only, store_error_of
from validator.store.schema import SchemaState, require_place, state_of, unreachable, upgrade_unlocked
from validator.store.transaction import Transaction
from validator.store.urls import StoreUrl, parse_url

ROOM: Final = 64 * 1024  # bytes that must find room next to the file
_FILE_ADVICE: Final = (
    "stop everything that uses it; put a moved file back with its -wal and -shm, else restore the newest backup"
)


class Place:
    """The SQLite file as it was when it was opened (StoreDamagedError: it is not there).

    The file itself is never opened here: closing it would drop the locks that SQLite holds on it in this process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        stat = self._stat()
        self._identity = stat.st_dev, stat.st_ino
        self._size = stat.st_size

    def require(self) -> None:
        """Check the path with one system call (StoreDamagedError: it leads to nothing, or to another file)."""
        self._same(self._stat())

    async def require_whole(self) -> None:
        """Check the path and the file's size; if it has shrunk, let SQLite read all of it (StoreDamagedError).

        A store in use only grows, unless somebody runs VACUUM.
        """
        stat = self._stat()
        self._same(stat)
        if stat.st_size < self._size:
            fault = "it is empty" if stat.st_size == 0 else await asyncio.to_thread(_fault, self._path)
            if fault is not None:
                raise StoreDamagedError(f"{self._shown} shrank from {self._size} bytes: {fault}; {_FILE_ADVICE}")
        self._size = stat.st_size

    def require_room(self) -> None:
        """Write a little next to the file and take it away again.

        Blocks: not for the event loop (StoreNoWriteError).
        """
        try:
            with tempfile.TemporaryFile(dir=self._path.parent, buffering=0) as file:
                file.write(bytes(ROOM))
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreNoWriteError(f"{self._shown}: {error.strerror or type(error).__name__}") from None

    @property
    def _shown(self) -> str:
        return printable(str(self._path))

    def _stat(self) -> os.stat_result:
        try:
            return self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise StoreDamagedError(f"{self._shown}: it was moved or deleted; {_FILE_ADVICE}") from None
        except OSError as error:
            raise StoreNoWriteError(f"{self._shown}: {error.strerror or type(error).__name__}") from None

    def _same(self, stat: os.stat_result) -> None:
        if (stat.st_dev, stat.st_ino) != self._identity:
            raise StoreDamagedError(f"{self._shown}: another file is there now; {_FILE_ADVICE}")


def _fault(path: Path) -> str | None:
    """Return what SQLite finds wrong with the file, None if nothing."""
    try:
        with closing(opened_to_read(path)) as connection:
            result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        # A busy database says neither that it is whole nor that it is not: the next transaction fails or works.
        result = "ok" if error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} else str(error)
    return None if result == "ok" else printable(result)


T = TypeVar("T")
_PROBE: Final = {"room": "x" * 8192}


class Store:
    """An open store. Use it from one event loop; close it, or use it as a context manager.

    `on_outage` is called with every trouble that a lasting write meets.
    """

    on_outage: Callable[[StoreAwayError], None]

    def __init__(
        self,
        engine: AsyncEngine,
        url: StoreUrl,
        lock: WriterLock,
        place: Place | None = None,
    ) -> None:
        self._engine = engine
        self._writing = writing(engine)
        self._reading = reading(engine)
        self._url = url
        self._lock = lock
        self._place = place
        self._patience = Patience()
        self.on_outage = lambda _: None
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
                    raise store_error_of(self._url, error) or StoreBusyError(
                        f"{self.location}: {printable(str(error.orig))}"
                    ) from None
                yield Transaction(connection)
        except DBAPIError as error:
            if (trouble := store_error_of(self._url, error)) is None:
                raise
            raise trouble from None

    async def lasting(self, work: Callable[[Transaction], Awaitable[T]], *, patience_s: float | None = None) -> T:
        """Run `work` in its own write transaction, again until the database takes it; return what it returns.

        `on_outage` is called with each failure. What the database committed although its answer was lost is not done
        again. `work` is done in one transaction, perhaps several times, of which one counts: no effects elsewhere.

        Raises:
            StoreAwayError: `patience_s` were over; None waits for as long as it takes.
            StoreError: as `begin`.
        """
        return await self._patience.write(self.begin, work, self.on_outage, patience_s)

    @property
    def waiting(self) -> int:
        """The number of lasting writes that wait for the database."""
        return self._patience.waiting

    async def probe(self) -> None:
        """Write a few bytes to check that the store takes writes (StoreError: as `begin`)."""
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

        Raises:
            StoreAwayError: the database is gone; StoreUnreachableError when it was before.
            StoreDamagedError: the file is.
        """
        try:
            async with AsyncExitStack() as stack:
                try:
                    connection = await stack.enter_async_context(self._reading.begin())
                except DBAPIError as error:
                    trouble = store_error_of(self._url, error)
                    raise trouble if isinstance(trouble, StoreLostError) else unreachable(self._url, error) from None
                yield Transaction(connection)
        except DBAPIError as error:
            if reading_only(error) or (trouble := store_error_of(self._url, error)) is None:
                raise
            raise trouble from None

    async def log_size(self) -> int:
        """Return the bytes of SQLite's write-ahead log; 0 on Postgres. A transaction that stays open lets it grow."""
        path = self._url.path
        try:
            return 0 if path is None else (await asyncio.to_thread(path.with_name(f"{path.name}-wal").stat)).st_size
        except FileNotFoundError:  # nobody has it open
            return 0

    async def close(self) -> None:
        """Close all connections, then give up the writer lock."""
        try:
            await self._engine.dispose()
        finally:
            await self._lock.release()
            self._lock = WriterLock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _turn_over(self) -> None:
        self._writer_task = None


@dataclass(slots=True)
class Opening:
    """An opening, from `open_store`: `store = await …` (then close it), or `async with … as store`."""

    url: str
    writer: bool
    create: bool
    connections: int | None
    handles: Handles | None
    _store: Store | None = field(init=False, default=None)

    def __await__(self) -> Generator[object, None, Store]:
        return self._open().__await__()

    async def __aenter__(self) -> Store:
        self._store = await self._open()
        return self._store

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            await self._store.close()

    async def _open(self) -> Store:
        url = parse_url(self.url)
        require_place(url)
        try:
            lock = await take_lock(url, self.handles) if self.writer else WriterLock()
            async with AsyncExitStack() as stack:
                stack.push_async_callback(lock.release)
                engine = make_engine(url, connections=self.connections, handles=self.handles)
                stack.push_async_callback(engine.dispose)
                await self._settle_schema(url, engine)
                if self.writer:
                    await use_wal(url)
                place = Place(url.path) if self.writer and url.path is not None else None
                if place is not None:
                    require_at_connect(engine, place.require)
                store = Store(engine, url, lock, place)
                if self.writer and place is None:
                    async with store.begin() as tx:
                        await forget_tokens(tx.connection)
                if isinstance(lock, FileLock):
                    lock.made()
                stack.pop_all()
                return store
        except (DBAPIError, OSError) as error:
            raise unreachable(url, error) from None

    async def _settle_schema(self, url: StoreUrl, engine: AsyncEngine) -> None:
        state = await state_of(url, engine)
        if state == "empty" and self.create:
            await upgrade_unlocked(url, handles=self.handles)
        elif state != "current":
            there = url.path is None or url.path.exists()
            raise SchemaStateError(f"{url.shown} {_SCHEMA_ADVICE[state] if there else _MISSING}")


# A wrong path looks like this, too: making tables there would hide it.
_MISSING: Final = "is not there: correct store.url, or make it with `validator run` or `validator db upgrade`"
_SCHEMA_ADVICE: dict[SchemaState, str] = {
    "empty": "is empty: make its tables with `validator db upgrade`",
    "behind": "is behind this program: stop the validator, make a backup, then run `validator db upgrade`",
    "ahead": "is newer than this program, which `validator db upgrade` cannot undo: install the version that made it,"
    " or restore the backup that was made before its upgrade",
}


def open_store(
    url: str,
    *,
    writer: bool = False,
    create: bool = False,
    connections: int | None = None,
    handles: Handles | None = None,
) -> Opening:
    """Return an opening: `async with` it, or `await` it and close the store yourself.

    Args:
        url: `sqlite:///path`, `sqlite+aiosqlite:///path`, `postgresql://…` or `postgresql+psycopg://…`.
        writer: claim to be the store's only validator until it is closed. Without it, `begin` still works, for single
            administrative changes.
        create: make the tables of an empty database.
        connections: Postgres only; of one of many processes: at most so many.
        handles: hold its connections and its claim to write; None for handles that nobody drops.

    Raises:
        StoreUrlError: not such a url.
        StoreUnreachableError: the database cannot be opened.
        StoreLockedError: `writer` was asked for and another process is it.
        SchemaStateError: the tables are missing, behind or ahead; the message says what to do.
    """
    return Opening(url, writer, create, connections, handles)
