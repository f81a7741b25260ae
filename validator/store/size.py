"""Size of a store and of its tables, and its growth over the last seven days. Reads only."""

import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, case, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.tables import answers, bundles, metadata, records, rounds

_DBSTAT: Final = text(
    "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat AS s JOIN sqlite_master AS m ON m.name = s.name"
    " WHERE s.aggregate = TRUE GROUP BY m.tbl_name"
)


class TableSize(NamedTuple):
    """A table: how many rows, and bytes with its indices."""

    name: str
    rows: int
    bytes: int


class StoreSize(NamedTuple):
    """The bytes of a store without the log next to it, and those of a SQLite file that are free to be filled."""

    bytes: int
    reusable: int


async def table_sizes(connection: AsyncConnection) -> tuple[TableSize, ...]:
    """Return every table's size, largest first; reads the whole store. SQLite without dbstat: the values' alone."""
    sizes = []
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
        sizes.append(TableSize(str(table.name), rows, int(size or 0)))
    return tuple(sorted(sizes, key=lambda one: (-one.bytes, one.name)))


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
        return {name: int(size) for name, size in await connection.execute(_DBSTAT)}
    except DBAPIError:
        return None


KEPT_ROUNDS: Final = 144  # of `Dispatches.kept_bytes`: a day at a round per ten minutes
FEW_DAYS: Final = 14  # of growth that still fit: less is worth a warning
_DAY: Final = timedelta(days=1)
_WINDOW: Final = timedelta(days=7)
_LEAST: Final = timedelta(hours=6)  # a shorter time says nothing of a day


class DiskUse(NamedTuple):
    """Size and growth of a store.

    Attributes:
        bytes: of the store.
        free: bytes that it can still take; None for Postgres, whose disk is not seen.
        per_day: bytes that it grew by per day, over the last seven days; None for a store that is younger than 6 hours.
        days_left: until the disk is full at this growth; None if that is not known, or without growth.
    """

    bytes: int
    free: int | None
    per_day: float | None
    days_left: float | None


async def disk_use(connection: AsyncConnection, path: Path | None, kept: Mapping[str, int], now: datetime) -> DiskUse:
    """Return size and growth of a store.

    Args:
        connection: inside a read transaction.
        path: the SQLite file; None for Postgres.
        kept: days of retention by table (`answers`, `bundles`): older stores lose as much of them as they gain.
        now: the current time, UTC.

    Raises:
        OSError: the disk cannot be asked.
    """
    size = await store_size(connection)
    free = None if path is None else shutil.disk_usage(path.parent).free + size.reusable
    first = (await connection.execute(select(func.min(rounds.c.started_at)))).scalar()
    if first is None or now - first < _LEAST:
        return DiskUse(size.bytes, free, None, None)
    age, since = now - first, max(first, now - _WINDOW)
    permanent, grew = size.bytes - size.reusable, 0.0
    for table, column in ((answers, answers.c.body), (bundles, bundles.c.data)):
        whole, new = await _lengths(connection, column, table.c.stored_at >= since)
        permanent -= whole
        grew += new if age < timedelta(days=kept[table.name]) else 0
    ids = select(rounds.c.round_id).where(rounds.c.started_at >= since)
    whole, new = await _lengths(connection, records.c.frame, records.c.round_id.in_(ids))
    grew += permanent * new / whole if whole else 0.0  # all permanent rows grow as records do
    per_day = grew / ((now - since) / _DAY)
    return DiskUse(size.bytes, free, per_day, free / per_day if free is not None and per_day else None)


async def _lengths(connection: AsyncConnection, column: Any, is_new: ColumnElement[bool]) -> tuple[int, int]:
    """Return the bytes of all values of a column, and of those in new rows."""
    length = func.length(column)
    lengths = await connection.execute(select(func.sum(length), func.sum(case((is_new, length), else_=0))))
    whole, new = lengths.one()
    return int(whole or 0), int(new or 0)
