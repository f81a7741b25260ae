"""Database outages: the meaning of database errors, and writes that are tried again until they arrive."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from sssa.protocol.text import printable
from validator.store.connections import READ_ONLY
from validator.store.errors import StoreAwayError, StoreBusyError, StoreDamagedError, StoreError, StoreNoWriteError
from validator.store.transaction import Transaction
from validator.store.urls import StoreUrl

Trouble = Literal["away", "busy", "no_write", "damaged"]

_SQLITE: Final[dict[int, Trouble]] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_READONLY: "no_write",
    sqlite3.SQLITE_IOERR: "no_write",
    sqlite3.SQLITE_FULL: "no_write",
    sqlite3.SQLITE_CANTOPEN: "no_write",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_PRIMARY: Final = 0xFF  # of an extended result code
# By the beginning of the SQLSTATE. What a miner's answer could provoke (53200, 54…) is not here: that is a fault.
_POSTGRES: Final[dict[str, Trouble]] = {
    "08": "away",
    "57P": "away",
    "53300": "away",  # too many connections
    "28": "away",  # the password or the right to connect is gone
    "55P03": "busy",
    "40001": "busy",
    "40P01": "busy",
    "53100": "no_write",  # disk full
    "58030": "no_write",  # I/O error
    "25006": "no_write",  # read-only
    "XX001": "damaged",
    "XX002": "damaged",
}
_ERRORS: Final[dict[Trouble, type[StoreError]]] = {
    "away": StoreAwayError,
    "busy": StoreBusyError,
    "no_write": StoreNoWriteError,
    "damaged": StoreDamagedError,
}


def trouble_of(error: DBAPIError) -> Trouble | None:
    """Return what keeps the database from its work; None where the statement itself was at fault."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return "damaged"
    if code is not None:
        return _SQLITE.get(code & _PRIMARY)
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return "away" if error.connection_invalidated or _cannot_connect(error) else None
    return next((trouble for beginning, trouble in _POSTGRES.items() if state.startswith(beginning)), None)


def store_error_of(url: StoreUrl, error: DBAPIError) -> StoreError | None:
    """Return the error as callers know it, without statement and parameters; None where it is no trouble."""
    trouble = trouble_of(error)
    if trouble is None:
        return None
    advice = "; stop everything that uses it and restore the newest backup" if trouble == "damaged" else ""
    return _ERRORS[trouble](f"{url.shown}: {error_text(error)}{advice}")


def reading_only(error: DBAPIError) -> bool:
    """Return whether somebody wrote where only reading is allowed: in a read transaction that is no trouble."""
    code, state = getattr(error.orig, "sqlite_errorcode", 0), getattr(error.orig, "sqlstate", None)
    return code == sqlite3.SQLITE_READONLY or state == READ_ONLY


def error_text(error: DBAPIError) -> str:
    """Return the message of a database error, on one line."""
    return printable(" ".join(str(error.orig).split()), 300)


def _cannot_connect(error: DBAPIError) -> bool:
    """Return whether psycopg says so: it has no SQLSTATE for what happens before the server answers."""
    kind = type(error.orig)
    return kind.__module__.startswith("psycopg") and kind.__name__ in {
        "OperationalError",
        "InterfaceError",
        "ConnectionTimeout",
    }


PAUSE_S: Final = 1.0
PATIENCE_S: Final = 60.0
"""For what is better not done at all than done later."""
T = TypeVar("T")
Begin = Callable[[], AbstractAsyncContextManager[Transaction]]
OutageListener = Callable[[StoreAwayError], None]


# The id of a transaction would not do: one that a crash undid is given to another transaction.
_MARK: Final = text(
    "WITH acknowledged AS (DELETE FROM write_tokens WHERE token = ANY(:acknowledged))"
    " INSERT INTO write_tokens (token)"
    " VALUES (to_char(now() AT TIME ZONE 'utc', 'YYYYMMDDHH24MISS-') || gen_random_uuid()::text) RETURNING token"
)
# A process leaves those of its last writes. Those of workers that wait for an answer are of the last minutes.
_FORGET: Final = text(
    "DELETE FROM write_tokens WHERE token < to_char(now() AT TIME ZONE 'utc' - INTERVAL '1 hour', 'YYYYMMDDHH24MISS-')"
)
_ARRIVED: Final = text("SELECT EXISTS (SELECT FROM write_tokens WHERE token = :token)")


class _Sent(NamedTuple, Generic[T]):
    """A commit that was sent: the token in it (None on SQLite, where a failed commit did not happen)."""

    token: str | None
    result: T


class Patience:
    """The shared retry of one store's writers while its database is away: one of those that wait tries at a time."""

    def __init__(self) -> None:
        self.waiting = 0
        self._turn = asyncio.Lock()
        self._acknowledged: list[str] = []  # tokens that the next write removes

    async def write(
        self,
        begin: Begin,
        work: Callable[[Transaction], Awaitable[T]],
        on_outage: OutageListener,
        patience_s: float | None,
    ) -> T:
        """Return what `work` returns of the transaction that was committed. See `Store.lasting`."""
        sent: _Sent[T] | None = None

        async def once() -> T:
            """Do the work in one transaction, unless the one before arrived after all."""
            nonlocal sent
            removed: list[str] = []
            async with begin() as tx:
                done = sent
                if done is None or not await _arrived(tx.connection, done.token):
                    sent, removed = None, list(self._acknowledged)
                    result = await work(tx)
                    done = sent = _Sent(await _mark(tx.connection, removed), result)
            self._acknowledged = [token for token in self._acknowledged if token not in removed]
            self._acknowledged += [] if done.token is None else [done.token]
            return done.result

        try:
            return await once()
        except StoreAwayError as error:
            on_outage(error)
            trouble = error
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.waiting += 1
        try:
            async with self._turns(patience_s, trouble):
                while True:
                    await asyncio.sleep(PAUSE_S)
                    try:
                        return await once()
                    except StoreAwayError as error:
                        on_outage(error)
                        if patience_s is not None and loop.time() - began >= patience_s:
                            raise
        finally:
            self.waiting -= 1

    @asynccontextmanager
    async def _turns(self, patience_s: float | None, trouble: StoreAwayError) -> AsyncIterator[None]:
        """Wait for the turn until the timeout; the holder may exceed it."""
        try:
            async with asyncio.timeout(patience_s):
                await self._turn.acquire()
        except TimeoutError:
            raise trouble from None
        try:
            yield
        finally:
            self._turn.release()


async def _mark(connection: AsyncConnection, acknowledged: list[str]) -> str | None:
    """Write a new token, and remove those of acknowledged writes."""
    if connection.dialect.name != "postgresql":
        return None
    return str(await connection.scalar(_MARK, {"acknowledged": acknowledged}))


async def forget_tokens(connection: AsyncConnection) -> None:
    """Remove the tokens that processes left on Postgres; for a validator that starts: its own may be older."""
    await connection.execute(_FORGET)


async def _arrived(connection: AsyncConnection, token: str | None) -> bool:
    """Return whether the transaction with that token was committed. Its turn is over: this one has the next."""
    return token is not None and bool(await connection.scalar(_ARRIVED, {"token": token}))
