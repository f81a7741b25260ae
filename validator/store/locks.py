"""Who may write: one validator per store, held from opening to closing."""

import fcntl
import os
import zlib
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.connect import BUSY_MS, LOCK_CLASS, LOCK_WRITE, LOCK_WRITER, make_engine
from validator.store.errors import StoreLockedError, StoreLockLostError
from validator.store.urls import StoreUrl

_ADVICE = "stop it first, or give this one a store of its own"


class WriterLock(Protocol):
    """A claim to be the store's only long-lived writer."""

    async def check(self, connection: AsyncConnection) -> None:
        """Raise StoreLockLostError if the claim does not hold any more; `connection` is a write transaction's."""

    async def release(self) -> None:
        """Give the claim up."""


class NoLock:
    """A store opened for reading, or for a single administrative change."""

    async def check(self, connection: AsyncConnection) -> None:
        """Nothing was claimed."""

    async def release(self) -> None:
        """Nothing was claimed."""


class FileLock:
    """An flock on a file beside the SQLite file. The kernel drops it with the process, however that ends.

    Args:
        path: the SQLite file.

    Raises:
        StoreLockedError: another process, or another store of this one, holds it.
    """

    def __init__(self, path: Path) -> None:
        lock_path = path.with_name(path.name + ".lock")
        self._file = os.open(lock_path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 20).decode("ascii", "replace").strip()
            os.close(self._file)
            who = f"process {holder}" if holder.isdecimal() else "another process"
            raise StoreLockedError(f"{who} writes to {path.name}; {_ADVICE}") from None
        # The file stays when the lock goes: removing it would let two processes lock two files of one name.
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    async def check(self, connection: AsyncConnection) -> None:
        """An flock is not lost while the process lives."""

    async def release(self) -> None:
        """Unlock."""
        os.close(self._file)


class AdvisoryLock:
    """A session advisory lock on a connection of its own.

    Postgres drops it with the connection, which a restart or a firewall can end behind our back; so every write
    transaction looks whether that session still holds it.
    """

    def __init__(self, stack: AsyncExitStack, session: int, purpose: int) -> None:
        self._stack = stack
        self._session = session
        self._purpose = purpose

    @classmethod
    async def acquire(cls, url: StoreUrl) -> "AdvisoryLock":
        """Take the lock.

        Raises:
            StoreLockedError: another session holds it.
        """
        async with AsyncExitStack() as stack:
            engine = make_engine(url, pooled=False)
            stack.push_async_callback(engine.dispose)
            connection = await stack.enter_async_context(
                engine.execution_options(isolation_level="AUTOCOMMIT").connect()
            )
            row = (await connection.execute(text("SELECT pg_backend_pid(), current_schema()"))).one()
            # Locks are per database; two stores in two schemas of one database do not shut each other out.
            purpose = zlib.crc32(f"{LOCK_WRITER}|{row[1]}".encode()) & 0x7FFFFFFF
            taken = await connection.scalar(
                text("SELECT pg_try_advisory_lock(:class, :purpose)"), {"class": LOCK_CLASS, "purpose": purpose}
            )
            if not taken:
                raise StoreLockedError(f"another session writes to {url.shown}; {_ADVICE}")
            stack.push_async_callback(_unlock, connection, purpose)
            return cls(stack.pop_all(), row[0], purpose)

    async def check(self, connection: AsyncConnection) -> None:
        """Ask the database whether our session still holds the lock."""
        held = await connection.scalar(
            text(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = :session AND granted"
                " AND classid = :class AND objid = :purpose AND objsubid = 2"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            ),
            {"session": self._session, "class": LOCK_CLASS, "purpose": self._purpose},
        )
        if held != 1:
            raise StoreLockLostError("the database ended the session that held the lock; start the validator again")

    async def release(self) -> None:
        """Unlock and close the session."""
        await self._stack.aclose()


async def _unlock(connection: AsyncConnection, purpose: int) -> None:
    """Give the lock back: the database notices a closed connection in its own time, too late for who opens next."""
    with suppress(DBAPIError):  # a session that is gone holds nothing
        await connection.execute(
            text("SELECT pg_advisory_unlock(:class, :purpose)"), {"class": LOCK_CLASS, "purpose": purpose}
        )


async def take_lock(url: StoreUrl) -> WriterLock:
    """Become the store's writer.

    Raises:
        StoreLockedError: someone else is.
    """
    return await AdvisoryLock.acquire(url) if url.path is None else FileLock(url.path)


async def take_turn(connection: AsyncConnection) -> None:
    """Wait until no other write transaction is open in a Postgres database (SQLite does so when one begins)."""
    if connection.dialect.name == "postgresql":
        await connection.execute(text(f"SET LOCAL lock_timeout = '{BUSY_MS}ms'"))
        await connection.execute(
            text("SELECT pg_advisory_xact_lock(:class, :purpose)"), {"class": LOCK_CLASS, "purpose": LOCK_WRITE}
        )
