"""The write lock: one validator per store, from opening to closing, by a file or an advisory lock of Postgres."""

import fcntl
import os
import zlib
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sssa.files import why
from sssa.protocol.text import printable
from validator.store.connections import BUSY_MS, LOCK_CLASS, LOCK_WRITE, LOCK_WRITER, Handles, make_engine
from validator.store.errors import StoreDamagedError, StoreLockedError, StoreLockLostError, StoreUnreachableError
from validator.store.urls import StoreUrl

_STORE_NOTE = "a store was made here\n"
_ADVICE = "stop it first, or give this one its own store"
LET_OPEN: Final = "run as the user who owns it, or give it to this one (chown); each validator runs as one user"


_SESSION: Final = text("SELECT pid, backend_start, current_schema() FROM pg_stat_activity WHERE pid = pg_backend_pid()")
# A machine that loses power says no goodbye: the server would keep its session, and the lock, for two hours.
_KEEPALIVE: Final = text(
    "SELECT set_config('tcp_keepalives_idle', '60', false), set_config('tcp_keepalives_interval', '10', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)
_TAKE: Final = text("SELECT pg_try_advisory_lock(:class, :purpose)")
_GIVE_BACK: Final = text("SELECT pg_advisory_unlock(:class, :purpose)")
_HOLDS: Final = text(
    "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
    " WHERE locktype = 'advisory' AND pid = :session AND backend_start = :since AND granted"
    " AND classid = :class AND objid = :purpose AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class WriterLock:
    """A claim to be the store's only long-lived writer. This one claims nothing: for a single administrative change."""

    async def check(self, connection: AsyncConnection) -> None:
        """Raise StoreLockLostError if the claim does not hold any more; `connection` is a write transaction's."""

    async def release(self) -> None:
        """Give the claim up."""


def lock_file(path: Path) -> Path:
    """Return the lock file of a SQLite file."""
    return path.with_name(path.name + ".lock")


class FileLock(WriterLock):
    """An flock on a file next to the SQLite file. The kernel drops it with the process, however that ends.

    Raises:
        StoreLockedError: another process, or another store of this one, holds it.
        StoreUnreachableError: its file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        lock_path = lock_file(path)
        self._dropped = False
        try:
            self._file = os.open(lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnreachableError(f"{printable(str(lock_path))}: {why(error)}; {LET_OPEN}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._read().partition("\n")[0]
            os.close(self._file)
            who = f"process {holder}" if holder.isdecimal() else "another process"
            raise StoreLockedError(f"{who} writes to {path.name}; {_ADVICE}") from None
        self._made = self._read().endswith(_STORE_NOTE)
        # The file stays when the lock goes: removing it would let two processes lock two files of one name.
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n{_STORE_NOTE if self._made else ''}".encode(), 0)
        if self._made and not (path.exists() and path.stat().st_size):
            os.close(self._file)
            raise StoreDamagedError(
                f"{printable(str(path))} is gone or empty, and {lock_path.name} says that a store was there; put it"
                f" back with its -wal and -shm, else restore the newest backup; for a new store remove {lock_path.name}"
            )

    def made(self) -> None:
        """Note next to the file that it holds a store: from now on its absence is a loss, not a beginning."""
        if not self._made:
            self._made = True
            os.pwrite(self._file, f"{os.getpid()}\n{_STORE_NOTE}".encode(), 0)

    def _read(self) -> str:
        return os.pread(self._file, 100, 0).decode("ascii", "replace")

    async def release(self) -> None:
        """Unlock."""
        self.drop()

    def drop(self) -> None:
        """Unlock; done once, however often it is asked for."""
        if not self._dropped:
            self._dropped = True
            os.close(self._file)


class AdvisoryLock(WriterLock):
    """A session advisory lock on its own connection.

    Postgres drops it with the connection, which a restart or a firewall can end behind our back; so every write
    transaction looks whether that session still holds it, and takes it again if nobody else has it.
    """

    _engine: AsyncEngine
    _connection: AsyncConnection
    _held: Mapping[str, Any]
    """The identity of the lock: process and start of its session (numbers of processes come again), and its keys."""

    def __init__(self, url: StoreUrl, handles: Handles) -> None:
        self._url = url
        self._handles = handles

    async def take(self) -> None:
        """Take the lock (StoreLockedError: another session holds it)."""
        async with AsyncExitStack() as stack:
            self._engine = make_engine(self._url, pooled=False, handles=self._handles)
            stack.push_async_callback(self._engine.dispose)
            self._connection = await self._engine.execution_options(isolation_level="AUTOCOMMIT").connect()
            stack.push_async_callback(self._connection.close)
            await self._connection.execute(_KEEPALIVE)
            session, since, schema = (await self._connection.execute(_SESSION)).one()
            # Locks are per database; two stores in two schemas of one database do not shut each other out.
            purpose = zlib.crc32(f"{LOCK_WRITER}|{schema}".encode()) & 0x7FFFFFFF
            self._held = {"session": session, "since": since, "class": LOCK_CLASS, "purpose": purpose}
            if not await self._connection.scalar(_TAKE, self._held):
                raise StoreLockedError(f"another session writes to {self._url.shown}; {_ADVICE}")
            stack.pop_all()

    async def check(self, connection: AsyncConnection) -> None:
        """Ask the database whether our session still holds the lock; take it again where that session has ended."""
        if await connection.scalar(_HOLDS, self._held) == 1:
            return
        if not self._connection.closed:
            await self._connection.invalidate()
            await self._connection.close()
        await self._engine.dispose()
        try:
            await self.take()
        except StoreLockedError as error:
            raise StoreLockLostError(f"the database ended the session that held the lock; {error.detail}") from None

    async def release(self) -> None:
        """Unlock, and close the session: the database notices that in its own time, too late for who opens next."""
        if not self._connection.closed:
            with suppress(DBAPIError):  # a session that is gone holds nothing
                await self._connection.execute(_GIVE_BACK, self._held)
            await self._connection.close()
        await self._engine.dispose()


async def take_lock(url: StoreUrl, handles: Handles | None = None) -> WriterLock:
    """Become the store's writer; `handles` hold the claim (StoreLockedError: someone else is)."""
    handles = handles or Handles()
    if url.path is None:
        advisory = AdvisoryLock(url, handles)
        await advisory.take()
        return advisory
    lock = FileLock(url.path)
    handles.claim(lock)
    return lock


async def take_turn(connection: AsyncConnection) -> None:
    """Wait until no other write transaction is open in a Postgres database (SQLite does so when one begins)."""
    if connection.dialect.name == "postgresql":
        await connection.execute(text(f"SET LOCAL lock_timeout = '{BUSY_MS}ms'"))
        await connection.execute(
            text("SELECT pg_advisory_xact_lock(:class, :purpose)"), {"class": LOCK_CLASS, "purpose": LOCK_WRITE}
        )
