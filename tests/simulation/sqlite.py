"""SQLite driver of the simulation: real files on the loop's thread, with drawn durations, faults, kills at commits."""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal, Self, TypeVar

from inline_sqlite import InlineConnection, connector
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import LRUCache

from simulation.faults import Faults
from simulation.loop import VirtualLoop
from validator.store.connections import Handles

T = TypeVar("T")
_CODES = {
    "disk_full": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "busy": (sqlite3.SQLITE_BUSY, "database is locked"),
}
_TAKES_TIME = ("execute", "executemany", "executescript", "commit", "rollback")
_INSTANT = ("BEGIN", "PRAGMA query_only = ON", "PRAGMA query_only = OFF")
_WRITES = ("INSERT", "UPDATE", "DELETE", "PRAGMA user_version =")


class TimedConnection(InlineConnection):
    """A connection whose statements run where they are called; their answers come after a drawn time.

    Args:
        connector: opens the database.
        loop: of the life.
        faults: what fails, and where the process is killed; None for a visitor that nothing happens to.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], loop: VirtualLoop, faults: Faults | None) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._loop = loop
        self._faults = faults
        self._writing = False
        self._written: set[str] = set()  # tables, in the transaction that is open

    async def _opened(self) -> Self:
        self._connection = await self._timed(self._connector)
        return self

    async def _execute(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        connection = self._open()
        name, sql = getattr(fn, "__name__", ""), args[0] if args and isinstance(args[0], str) else ""
        if name == "rollback":
            self._writing = False
        if name not in _TAKES_TIME or sql in _INSTANT or (name == "rollback" and not connection.in_transaction):
            return fn(*args, **kwargs)
        commits = name == "commit" and self._writing and connection.in_transaction
        if commits and self._faults is not None and self._faults.kills("before_commit", self._written):
            await self._loop.die()
        if commits and self._faults is not None and self._faults.kills("cancel_at_commit", self._written):
            self._loop.call_soon(self._faults.cancel)
        sql = sql.lstrip()
        self._fail(sql)
        if sql == "BEGIN IMMEDIATE":
            self._writing = True
            self._written = set()
        elif sql.startswith(_WRITES):
            self._written.add(sql.split(None, 3)[1 if sql.startswith("UPDATE") else 2])
        result = await self._timed(partial(fn, *args, **kwargs), killed_after=commits)
        if name == "commit":
            self._writing = False
        return result

    def _fail(self, sql: str) -> None:
        """Raise what a fault that is active now lets this statement raise."""
        if self._faults is None:
            return
        kind: Literal["busy", "disk_full"] | None = None
        if sql == "BEGIN IMMEDIATE" and self._faults.active("busy"):
            kind = "busy"
        elif self._writing and sql.startswith(_WRITES) and self._faults.active("disk_full"):
            kind = "disk_full"
        if kind is not None:
            self._faults.count(kind)
            code, text = _CODES[kind]
            error = sqlite3.OperationalError(text)
            error.sqlite_errorcode = code
            raise error

    async def _timed(self, call: Callable[[], T], *, killed_after: bool = False) -> T:
        try:
            return call()
        finally:  # an error, too, comes as late as from a thread
            if killed_after and self._faults is not None and self._faults.kills("after_commit", self._written):
                await self._loop.die()
            await asyncio.sleep(self._loop.duration())


class _Compiled(LRUCache[Any, Any]):
    """Statements that SQLAlchemy has compiled, kept for every engine: dialects of one kind write the same SQL."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key[1:], default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key[1:], value)


_compiled: Final = _Compiled(2_000)


class SimulatedHandles(Handles):
    """Handles of a process that shares what it compiled with those before it."""

    def hold(self, engine: AsyncEngine) -> None:
        """Hold its connections."""
        super().hold(engine)
        engine.sync_engine._compiled_cache = _compiled


def handles(loop: VirtualLoop, faults: Faults | None = None) -> Handles:
    """Return handles whose connections run on the loop."""

    async def connect(*args: Any, **kwargs: Any) -> TimedConnection:
        return await TimedConnection(connector(*args, **kwargs), loop, faults)

    return SimulatedHandles(connect, busy_ms=0)
