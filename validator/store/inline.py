"""SQLite without a thread of its own: for a process whose loop has nothing to do while a statement runs.

Going to a thread and back takes longer than most statements. What SQLAlchemy asks of aiosqlite is all that is here.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, Self

from validator.store.connect import AsyncCreator
from validator.store.urls import StoreUrl


def inline_creator(url: StoreUrl) -> AsyncCreator | None:
    """Return what makes such connections for `open_store`, None for a database that is not SQLite."""
    return None if url.path is None else connect


async def connect(*args: Any, **kwargs: Any) -> "InlineConnection":
    """Return a connection, from the arguments of `sqlite3.connect`."""
    return InlineConnection(sqlite3.connect(*args, **kwargs))


class InlineCursor:
    """A cursor whose methods are done when they return."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    async def __aenter__(self) -> Self:
        return self

    @property
    def description(self) -> Any:
        """Of the columns."""
        return self._cursor.description

    @property
    def lastrowid(self) -> int | None:
        """Of the last INSERT."""
        return self._cursor.lastrowid

    @property
    def rowcount(self) -> int:
        """Of the last statement."""
        return self._cursor.rowcount

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement."""
        self._cursor.execute(statement, parameters)

    async def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each of them."""
        self._cursor.executemany(statement, parameters)

    async def fetchone(self) -> Any:
        """Return the next row."""
        return self._cursor.fetchone()

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        """Return the next rows."""
        return self._cursor.fetchmany(self._cursor.arraysize if size is None else size)

    async def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        return self._cursor.fetchall()

    async def close(self) -> None:
        """Give it back."""
        self._cursor.close()


class InlineConnection:
    """A connection whose methods are done when they return."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def cursor(self) -> InlineCursor:
        """Return a new cursor."""
        return InlineCursor(self._connection.cursor())

    async def create_function(self, *args: Any, **kwargs: Any) -> None:
        """Let statements call a function."""
        self._connection.create_function(*args, **kwargs)

    async def commit(self) -> None:
        """End the transaction."""
        self._connection.commit()

    async def rollback(self) -> None:
        """Undo the transaction."""
        self._connection.rollback()

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()
