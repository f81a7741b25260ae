"""SQLite on the event loop's own thread: half of what a daemon on virtual time costs is waiting for another thread."""

import sqlite3
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Self, TypeVar

from validator.store.connections import Handles, ThreadedConnection

T = TypeVar("T")


class InlineConnection(ThreadedConnection):
    """A connection whose statements run where they are called."""

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        self._connection = self._connector()
        return self

    async def _execute(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        self._open()
        return fn(*args, **kwargs)

    def _open(self) -> sqlite3.Connection:
        if not self._running or self._connection is None:
            raise ValueError("Connection closed")
        return self._connection

    async def close(self) -> None:
        """Close it."""
        self.stop()

    def stop(self) -> None:
        """Close it at once."""
        self._running = False
        if (connection := self._connection) is not None:
            self._connection = None
            connection.close()


def connector(*args: Any, **kwargs: Any) -> Callable[[], sqlite3.Connection]:
    """Return what opens the database, from the arguments of `sqlite3.connect`."""
    return partial(sqlite3.connect, *args, **kwargs | {"check_same_thread": False})


async def _connect(*args: Any, **kwargs: Any) -> InlineConnection:
    return await InlineConnection(connector(*args, **kwargs), iter_chunk_size=64)


def handles() -> Handles:
    """Return handles for a store that nobody else writes to."""
    return Handles(_connect)
