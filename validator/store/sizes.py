"""How much room each table takes, its indices included."""

from typing import Final, NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.tables import metadata

_PAGES: Final = text(
    "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat AS s JOIN sqlite_master AS m ON m.name = s.name"
    " WHERE s.aggregate = TRUE GROUP BY m.tbl_name"
)


class TableSize(NamedTuple):
    """A table: how many rows, and bytes with its indices."""

    name: str
    rows: int
    bytes: int


class StoreSize(NamedTuple):
    """A store.

    Attributes:
        bytes: of its file without the log beside it, or of the database.
        reusable: bytes of a SQLite file that hold nothing and are filled first; 0 for Postgres.
    """

    bytes: int
    reusable: int


async def table_sizes(connection: AsyncConnection) -> tuple[TableSize, ...]:
    """Return every table's size, largest first; reads the whole store. SQLite without dbstat: the values' alone."""
    found = []
    pages = await _pages(connection)
    for table in metadata.sorted_tables:
        rows = int(await connection.scalar(select(func.count()).select_from(table)) or 0)
        if connection.dialect.name == "postgresql":
            size = await connection.scalar(select(func.pg_total_relation_size(table.name)))
        elif pages is not None:
            size = pages.get(table.name, 0)
        else:
            lengths = (func.coalesce(func.length(column), 0) for column in table.columns)
            size = await connection.scalar(select(func.sum(sum(lengths, start=0))))
        found.append(TableSize(str(table.name), rows, int(size or 0)))
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.name)))


async def store_size(connection: AsyncConnection) -> StoreSize:
    """Return the whole store's size."""
    if connection.dialect.name == "postgresql":
        return StoreSize(int(await connection.scalar(select(func.pg_database_size(func.current_database()))) or 0), 0)
    page, pages, free = [
        int(await connection.scalar(text(f"PRAGMA {name}")) or 0)
        for name in ("page_size", "page_count", "freelist_count")
    ]
    return StoreSize(page * pages, page * free)


async def _pages(connection: AsyncConnection) -> dict[str, int] | None:
    """Return the bytes of the pages of each SQLite table; None where this SQLite cannot tell."""
    if connection.dialect.name != "sqlite":
        return None
    try:
        return {name: int(size) for name, size in await connection.execute(_PAGES)}
    except DBAPIError:
        return None
