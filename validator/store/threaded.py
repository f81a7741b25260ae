"""SQLite in a thread of its own, which is ended once, whoever ends it and however often."""

import asyncio
import sqlite3
from typing import Any

import aiosqlite


class ThreadedConnection(aiosqlite.Connection):
    """aiosqlite's, but for its end.

    A connection whose closing is cancelled is stopped by SQLAlchemy, and then once more by aiosqlite, which waits for
    the answer of a thread that has ended: cancelling everything at the end of `asyncio.run` hung for ever.
    """

    _stopping = False

    def stop(self) -> asyncio.Future[Any] | None:
        """End the thread; None, and there is nothing to wait for, if it was told so before."""
        if self._stopping:
            return None
        self._stopping = True
        if (connection := self._connection) is not None:
            self._tx.put_nowait((None, lambda: self._end(connection)))
        return super().stop()

    def _end(self, connection: sqlite3.Connection) -> None:
        """Close it in its thread, whoever has taken it from this object meanwhile: else it would stay locked."""
        connection.close()
        self._connection = None


async def connect(*args: Any, **kwargs: Any) -> ThreadedConnection:
    """Return a connection, from the arguments of `sqlite3.connect`."""
    connection = ThreadedConnection(lambda: sqlite3.connect(*args, **kwargs), iter_chunk_size=64)
    connection._thread.daemon = True  # noqa: SLF001 - as SQLAlchemy does with those that it makes itself
    await connection
    return connection
