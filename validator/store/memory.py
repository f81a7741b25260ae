"""Databases in memory, for rows that do not lie in the store's tables but are read by the same statements."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Self

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import StaticPool

from validator.store.connect import AsyncCreator


class Memory:
    """A SQLite database that nobody else has, empty or as its creator made it; close it.

    Args:
        engine: of the database.
        connection: to it, the only one.
    """

    def __init__(self, engine: AsyncEngine, connection: AsyncConnection) -> None:
        self._engine = engine
        self.connection = connection

    @classmethod
    async def opened(cls, creator: AsyncCreator) -> Self:
        """Return one whose connection `creator` makes."""
        engine = create_async_engine(
            "sqlite+aiosqlite://",
            poolclass=StaticPool,
            connect_args={"async_creator_fn": creator},
            hide_parameters=True,
        )
        return cls(engine, await engine.connect())

    async def close(self) -> None:
        """Let go of it."""
        await self.connection.close()
        await self._engine.dispose()


def insert_plain(
    connection: Connection, table: str, names: Sequence[str], rows: Sequence[Sequence[Any]], *, known: bool = False
) -> None:
    """Insert rows past SQLAlchemy's types, in a third of the time.

    Args:
        connection: to SQLite.
        table: ours, and so are the names.
        names: of the columns.
        rows: values as SQLite has them (`as_sqlite`).
        known: whether rows may be there already, which stay then.
    """
    if rows:
        insert = "INSERT OR IGNORE" if known else "INSERT"
        marks = ", ".join("?" * len(names))
        connection.exec_driver_sql(f"{insert} INTO {table} ({', '.join(names)}) VALUES ({marks})", list(rows))


def as_sqlite(value: Any) -> Any:
    """Return a column's value as SQLite has it."""
    match value:
        case str():
            return str(value)  # an enum's member as its plain value
        case datetime():
            in_utc = value if value.tzinfo is None else value.astimezone(UTC)
            return in_utc.replace(tzinfo=None).isoformat(" ", "microseconds")
        case _:
            return value
