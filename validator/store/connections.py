"""Connections to either database: handles of one process, and how transactions begin."""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote
from weakref import WeakSet

import aiosqlite
from sqlalchemy import Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from sssa.protocol.text import printable
from validator.store.errors import StoreDamagedError, StoreUnreachableError
from validator.store.urls import StoreUrl

READ_ONLY: Final = "25006"  # the SQLSTATE of a write where only reading is allowed
MAKE_WRITABLE: Final = (
    "make room on its disk, then ALTER DATABASE … RESET default_transaction_read_only (or ALTER ROLE); the server must"
    " be no standby"
)
BUSY_MS: Final = 10_000  # longest wait for another program's write transaction
Creator = Callable[..., Awaitable[Any]]
"""Makes a connection of aiosqlite's kind from the arguments of `sqlite3.connect`."""


class Handles:
    """Connections and locks of one process.

    The kernel closes these handles when it kills the process. `drop` does the same to a daemon that shares its process
    with others, as daemons of a simulation do.

    Args:
        creator: makes connections to SQLite; None for the usual ones, each with its own thread.
        busy_ms: how long SQLite waits for another program's write transaction; 0 where nobody else can end it.
    """

    def __init__(self, creator: Creator | None = None, busy_ms: int = BUSY_MS) -> None:
        self.creator = creator
        self.busy_ms = busy_ms
        self._connections: WeakSet[Any] = WeakSet()
        self._claims: WeakSet[Any] = WeakSet()
        self._dropped = False

    def hold(self, engine: AsyncEngine) -> None:
        """Keep track of every connection that an engine makes from now on."""

        @event.listens_for(engine.sync_engine, "do_connect")
        def refuse(dialect: Any, *_: Any) -> None:
            if self._dropped:
                raise dialect.dbapi.OperationalError("the process that held the database has been killed")

        @event.listens_for(engine.sync_engine, "connect")
        def made(connection: Any, _record: Any) -> None:
            self._connections.add(connection.driver_connection)

    def claim(self, claim: Any) -> None:
        """Keep track of a write lock, which the kernel releases when the process ends, with `drop`."""
        self._claims.add(claim)

    def drop(self) -> None:
        """Close everything, and refuse whatever is asked for later. Transactions that are open are rolled back.

        To be called from the event loop's thread. A statement that SQLite executes in a thread ends before its
        connection is closed.
        """
        self._dropped = True
        for connection in tuple(self._connections):
            if hasattr(connection, "pgconn"):
                connection.pgconn.finish()
            else:
                connection.stop()
        for claim in tuple(self._claims):
            claim.drop()


class _Cursor(aiosqlite.Cursor):
    """aiosqlite's, but it takes turns of the thread only to execute, to read, and to let go of rows that are left."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._conn = connection
        self._is_read = False

    async def __aenter__(self) -> Self:
        self._cursor = self._conn._conn.cursor()  # noqa: SLF001 - aiosqlite takes a turn for it
        return self

    async def fetchall(self) -> Iterable[Any]:
        """Return the rows that are left: SQLite holds nothing for them any more."""
        rows: Iterable[Any] = await super().fetchall()
        self._is_read = True
        return rows

    async def close(self) -> None:
        """Close, if rows may be left."""
        if not self._is_read and self._cursor.description is not None:
            await super().close()


class ThreadedConnection(aiosqlite.Connection):
    """aiosqlite's, but for its cursors and its end.

    A connection whose closing is cancelled is stopped by SQLAlchemy, and then once more by aiosqlite, which waits for
    the answer of a thread that has ended: cancelling everything at the end of `asyncio.run` hung for ever.
    """

    _stopping = False

    def cursor(self) -> Any:
        """Return a cursor, to be entered."""
        return _Cursor(self)

    def stop(self) -> asyncio.Future[Any] | None:
        """End the thread; None if it is ending already."""
        if self._stopping:
            return None
        self._stopping = True
        if (connection := self._connection) is not None:
            self._tx.put_nowait((None, lambda: self._end(connection)))
        return super().stop()

    def _end(self, connection: sqlite3.Connection) -> None:
        """Close it in its thread, anyone who has taken it from this object meanwhile: else it would stay locked."""
        connection.close()
        self._connection = None


async def connect(*args: Any, **kwargs: Any) -> ThreadedConnection:
    """Return a connection, from the arguments of `sqlite3.connect`."""
    connection = ThreadedConnection(lambda: sqlite3.connect(*args, **kwargs), iter_chunk_size=64)
    connection._thread.daemon = True  # noqa: SLF001 - as SQLAlchemy does with those that it makes itself
    await connection
    return connection


WAL_KEPT: Final = 16 * 1024 * 1024  # bytes of a write-ahead log that stay on disk once it was emptied
CONNECT_S: Final = 10
GUEST_IDLE_MS: Final = 5_000  # half of what the validator's write transactions wait for another's
_WAL_RETRY_S: Final = 0.02
WRITE: Final = "store_write"
# Serialises write transactions on Postgres, as BEGIN IMMEDIATE does on SQLite. "SSSA" and a purpose.
LOCK_CLASS: Final = 0x53535341
LOCK_WRITE: Final = 1
LOCK_WRITER: Final = 2


# Every option of a session that the program relies on, at Postgres' own default: a server, a database or a role can
# have another one. With the version that brought it. default_transaction_read_only stays: hosts set it when a disk is
# full, and a write that it refuses says so.
SESSION: Final[Mapping[str, tuple[str, int]]] = {
    "statement_timeout": ("0", 0),
    "lock_timeout": ("0", 0),
    "idle_in_transaction_session_timeout": ("0", 0),
    "idle_session_timeout": ("0", 14),
    "transaction_timeout": ("0", 17),
    "client_encoding": ("'UTF8'", 0),
    "search_path": ('"$user", public', 0),
    "default_transaction_isolation": ("'read committed'", 0),
    "default_transaction_deferrable": ("off", 0),
    "synchronous_commit": ("on", 0),
    "datestyle": ("'ISO, MDY'", 0),
    "timezone": ("'UTC'", 0),
    "intervalstyle": ("'postgres'", 0),
    "standard_conforming_strings": ("on", 0),
    "bytea_output": ("'hex'", 0),
    "extra_float_digits": ("1", 0),
    "array_nulls": ("on", 0),
    "transform_null_equals": ("off", 0),
    "exit_on_error": ("off", 0),
    "row_security": ("on", 0),
    "check_function_bodies": ("on", 0),
    "client_min_messages": ("'notice'", 0),
}


def session_sql(version: int, url_options: str, **own: object) -> str:
    """Return the statements that every new session on Postgres begins with.

    Args:
        version: of the server, as libpq counts it (160004).
        url_options: `options` of the store's url; a search_path there is the operator's choice.
        own: other values of this program's, as SQL.
    """
    values = {name: value for name, (value, since) in SESSION.items() if version >= since * 10_000}
    if "search_path" in url_options:
        del values["search_path"]
    return "; ".join(f"SET {name} = {value}" for name, value in {**values, **own}.items())


def make_engine(
    url: StoreUrl,
    *,
    foreign_keys: bool = True,
    pooled: bool = True,
    connections: int | None = None,
    handles: Handles | None = None,
) -> AsyncEngine:
    """Return an engine; nothing is connected yet.

    Args:
        url: which database.
        foreign_keys: False only while SQLite tables are rebuilt by a migration.
        pooled: False for a few connections that are closed at once.
        connections: of one of many processes on Postgres: at most so many; the server ends a transaction that is idle.
        handles: hold its connections; None for handles that nobody drops.
    """
    handles = handles or Handles()
    options: dict[str, Any] = {"hide_parameters": True}
    if pooled:
        options["pool_use_lifo"] = True  # a connection keeps pages and statements: the fewer are used, the less is kept
    else:
        options["poolclass"] = NullPool
    if url.path is None:
        arguments = {"connect_timeout": CONNECT_S, "application_name": "validator", "client_encoding": "utf8"}
        own: dict[str, object] = {}
        if connections is not None:
            own["idle_in_transaction_session_timeout"] = GUEST_IDLE_MS
            options |= {"pool_size": connections, "max_overflow": 0}
        engine = create_async_engine(url.url, connect_args=arguments, pool_pre_ping=pooled, **options)
        _prepare_postgres(engine.sync_engine, str(url.url.query.get("options", "")), own)
        handles.hold(engine)
        return engine
    # aiosqlite writes every statement's parameters to its debug log: salts and bodies do not belong there.
    logging.getLogger("aiosqlite").setLevel(logging.INFO)
    sqlite_arguments: dict[str, Any] = {
        "isolation_level": None,
        "timeout": handles.busy_ms / 1000,
        "factory": _SqliteConnection,
        "async_creator_fn": handles.creator or connect,
    }
    engine = create_async_engine(url.url, connect_args=sqlite_arguments, **options)
    handles.hold(engine)
    _prepare_sqlite(engine.sync_engine, handles.busy_ms, foreign_keys=foreign_keys)
    return engine


def writing(engine: AsyncEngine) -> AsyncEngine:
    """Return the engine for write transactions: at most one is open in the whole database."""
    return engine.execution_options(**{WRITE: True})


def reading(engine: AsyncEngine) -> AsyncEngine:
    """Return the engine for read transactions: one consistent view, and no way to write."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return engine.execution_options(**{WRITE: False})


def require_at_connect(engine: AsyncEngine, require: Callable[[], None]) -> None:
    """Call `require` before every new connection: SQLite would make a new file where the old one is gone."""

    @event.listens_for(engine.sync_engine, "do_connect")
    def look(*_: Any) -> None:
        require()


def opened_to_read(file: Path) -> sqlite3.Connection:
    """Open a SQLite file that exists, to read it (sqlite3.Error: it cannot be opened)."""
    uri = f"file:{quote(str(file))}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_MS / 1000, isolation_level=None)


def create_file(url: StoreUrl) -> None:
    """Make the SQLite file, readable by its owner only: it holds salts before they are public."""
    if url.path is not None and not url.path.exists():
        os.close(os.open(url.path, os.O_CREAT | os.O_RDWR, 0o600))


async def use_wal(url: StoreUrl) -> None:
    """Switch a SQLite file to write-ahead logging, which it then keeps; does nothing on Postgres.

    Only who writes does this, once: two connections that switch at the same time lock each other out, and a file that
    is not ours must not be changed by looking at it (StoreUnreachableError: busy, or no database; StoreDamagedError).
    """
    if url.path is None:
        return None
    loop = asyncio.get_running_loop()
    deadline = loop.time() + BUSY_MS / 1000
    while True:
        try:
            return await asyncio.to_thread(_switch_to_wal, url.path)
        except sqlite3.OperationalError as error:
            # SQLite does not wait by itself where two could wait for each other.
            if loop.time() >= deadline:
                raise StoreUnreachableError(f"{url.shown}: {printable(str(error))}") from None
        except sqlite3.DatabaseError as error:
            damaged = error.sqlite_errorcode == sqlite3.SQLITE_CORRUPT
            raise (StoreDamagedError if damaged else StoreUnreachableError)(
                f"{url.shown}: {printable(str(error))}"
            ) from None
        await asyncio.sleep(_WAL_RETRY_S)


def _switch_to_wal(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_MS / 1000)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


class _SqliteConnection(sqlite3.Connection):
    """Rolls back before it closes.

    A task that is cancelled in the middle of a statement leaves a cursor behind, and SQLite keeps a closed connection
    alive, write lock included, until its last statement is gone.
    """

    def close(self) -> None:
        """End the transaction, then the connection."""
        try:
            if self.in_transaction:
                self.rollback()
        finally:
            super().close()


def _prepare_postgres(engine: Engine, url_options: str, own: Mapping[str, object]) -> None:
    """Set the options of every new session, before SQLAlchemy asks it anything."""

    @event.listens_for(engine, "connect", insert=True)
    def settle(connection: Any, record: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
        connection.set_autocommit(True)  # one message: nothing is idle in between
        cursor = connection.cursor()
        cursor.execute(session_sql(connection.driver_connection.info.server_version, url_options, **own))
        cursor.close()
        connection.set_autocommit(False)


def _prepare_sqlite(engine: Engine, busy_ms: int, *, foreign_keys: bool) -> None:
    """Set the pragmas of every new connection and begin transactions ourselves (SQLAlchemy's recipe for pysqlite)."""

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, record: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {busy_ms}")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
        cursor.execute("PRAGMA trusted_schema = OFF")
        cursor.execute(f"PRAGMA journal_size_limit = {WAL_KEPT}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        write = connection.get_execution_options().get(WRITE, False)
        if connection.info.get(WRITE) != write:  # of the driver's connection: it keeps the pragma from turn to turn
            connection.exec_driver_sql(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
            connection.info[WRITE] = write
        # A write transaction takes its lock at once: one that starts as a reader may find that it can never write.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
