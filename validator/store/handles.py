"""Handles of one process on its databases: connections and claims to write, which end with the process."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol
from weakref import WeakSet

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

BUSY_MS: Final = 10_000  # longest wait for another program's write transaction
Creator = Callable[..., Awaitable[Any]]
"""Makes a connection of aiosqlite's kind from the arguments of `sqlite3.connect`."""


class Claim(Protocol):
    """A lock that the kernel gives back when the process ends."""

    def drop(self) -> None:
        """Give it back."""


class Handles:
    """Everything by which one process holds databases open.

    The kernel closes these handles when it kills the process. `drop` does the same to a daemon that shares its process
    with others, as daemons of a simulation do.

    Args:
        creator: makes connections to SQLite; None for the usual ones, each with a thread of its own.
        busy_ms: how long SQLite waits for another program's write transaction; 0 where nobody else can end it.
    """

    def __init__(self, creator: Creator | None = None, busy_ms: int = BUSY_MS) -> None:
        self.creator = creator
        self.busy_ms = busy_ms
        self._connections: WeakSet[Any] = WeakSet()
        self._claims: WeakSet[Claim] = WeakSet()
        self._dropped = False

    def hold(self, engine: AsyncEngine) -> None:
        """Hold every connection that an engine makes from now on."""

        @event.listens_for(engine.sync_engine, "do_connect")
        def refuse(dialect: Any, *_: Any) -> None:
            if self._dropped:
                raise dialect.dbapi.OperationalError("the process that held the database has been killed")

        @event.listens_for(engine.sync_engine, "connect")
        def made(connection: Any, _record: Any) -> None:
            self._connections.add(connection.driver_connection)

    def claim(self, claim: Claim) -> None:
        """Hold a claim to write."""
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
