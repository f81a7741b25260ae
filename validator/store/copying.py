"""Copies of a whole store into an empty one, on either database, every value exact: for `db copy` and backups."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple

from sqlalchemy import LargeBinary, Row, Table, TableClause, column, func, insert, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from validator.store.columns import Json, Message, Sealed
from validator.store.connections import make_engine, reading, use_wal, writing
from validator.store.errors import CopyError, NotEmptyError, SchemaStateError
from validator.store.locks import take_lock, take_turn
from validator.store.schema import require_place, state_of, unreachable, upgrade_unlocked
from validator.store.tables import metadata
from validator.store.urls import StoreUrl, parse_url

_ROWS: Final = 1_000  # at a time
_HEAVY_ROWS: Final = 8  # of tables with bytes: a raw answer may have 16 MiB
_MODULUS: Final = 2**256

Progress = Callable[[str, int], None]


class CopiedTable(NamedTuple):
    """A table that was copied; `digest`: hex of the sum of all rows' sha256, the same whatever the order."""

    name: str
    rows: int
    digest: str


async def row_counts(url: str) -> dict[str, int]:
    """Return how many rows each table of a store has (StoreError: it cannot be opened, or is of another version)."""
    source = parse_url(url)
    async with AsyncExitStack() as stack:
        try:
            connection = await stack.enter_async_context(reading(await _opened(stack, source)).begin())
            return {name.name: await _count(connection, name) for name in metadata.sorted_tables}
        except (DBAPIError, OSError) as error:
            raise unreachable(source, error) from None


async def copy_store(source_url: str, target_url: str, progress: Progress) -> tuple[CopiedTable, ...]:
    """Copy everything in one transaction, then read it back and compare; return what was copied.

    The source is read in one consistent view; a validator may be writing to it, and what it writes afterwards is not in
    the copy. The target has no rows of ours; its tables are made if they are not there. `progress` is called with a
    table's name and a number of rows.

    Raises:
        NotEmptyError: the target holds rows.
        CopyError: what came out of the target is not what went in; the target is left without rows.
        StoreError: a database cannot be used, or its tables are not those of this version.
    """
    source, target = parse_url(source_url), parse_url(target_url)
    if source.url == target.url:
        raise NotEmptyError("source and target are the same store")
    async with AsyncExitStack() as stack:
        at = source
        try:
            reader = await stack.enter_async_context(reading(await _opened(stack, source)).begin())
            at = target
            writer = await stack.enter_async_context(writing(await _prepared(stack, target)).begin())
            await take_turn(writer)
            await _require_no_rows(writer, target)
            return tuple([await _copy(reader, writer, one, progress) for one in metadata.sorted_tables])
        except (DBAPIError, OSError) as error:
            raise unreachable(at, error) from None


async def _opened(stack: AsyncExitStack, url: StoreUrl) -> AsyncEngine:
    require_place(url)
    engine = make_engine(url, pooled=False)
    stack.push_async_callback(engine.dispose)
    await _require_current(url, engine)
    return engine


async def _require_current(url: StoreUrl, engine: AsyncEngine) -> None:
    state = await state_of(url, engine)
    if state != "current":
        raise SchemaStateError(f"{url.shown} is {state}; `validator db upgrade` brings the tables to this version")


async def _prepared(stack: AsyncExitStack, url: StoreUrl) -> AsyncEngine:
    """Return an engine for the target with its tables made and its writer lock taken."""
    require_place(url)
    lock = await take_lock(url)
    stack.push_async_callback(lock.release)
    engine = make_engine(url, pooled=False)
    stack.push_async_callback(engine.dispose)
    if await state_of(url, engine) == "empty":
        await upgrade_unlocked(url)
    await _require_current(url, engine)
    await use_wal(url)
    return engine


async def _require_no_rows(connection: AsyncConnection, url: StoreUrl) -> None:
    for source in metadata.sorted_tables:
        if await _count(connection, source):
            raise NotEmptyError(f"{url.shown} has rows in `{source.name}`; name a new database")


async def _count(connection: AsyncConnection, source: Table) -> int:
    return int(await connection.scalar(select(func.count()).select_from(source)) or 0)


async def _copy(reader: AsyncConnection, writer: AsyncConnection, source: Table, progress: Progress) -> CopiedTable:
    async def put_in(rows: Sequence[Row[Any]]) -> None:
        await writer.execute(insert(plain(source)), [row._asdict() for row in rows])
        progress(source.name, len(rows))

    went = await _summed(reader, source, put_in)
    await _go_on_counting(writer, source)
    back = await _summed(writer, source)
    if back != went:
        raise CopyError(
            f"`{source.name}`: {went.rows} rows went in, {back.rows} came out, or other values; nothing is kept"
        )
    return back


async def _summed(
    connection: AsyncConnection, source: Table, take: Callable[[Sequence[Row[Any]]], Awaitable[None]] | None = None
) -> CopiedTable:
    """Read a table and sum its rows; `take` gets them, some at a time."""
    many, total = 0, 0
    result = await connection.stream(select(plain(source)))
    heavy = any(isinstance(c.type, LargeBinary | Sealed) for c in source.columns)
    async for rows in result.partitions(_HEAVY_ROWS if heavy else _ROWS):
        if take is not None:
            await take(rows)
        many, total = many + len(rows), (total + sum(map(_number, rows))) % _MODULUS
    return CopiedTable(source.name, many, f"{total:064x}")


async def _go_on_counting(writer: AsyncConnection, source: Table) -> None:
    """Set the counter of Postgres ids behind the copied ones; SQLite does so by itself."""
    counter = source.autoincrement_column
    if counter is None or writer.dialect.name != "postgresql":
        return
    names: Mapping[str, str] = {"table": source.name, "column": counter.name}
    sequence = await writer.scalar(text("SELECT pg_get_serial_sequence(:table, :column)"), names)
    largest = await writer.scalar(select(func.max(counter)))
    if sequence is not None and largest is not None:
        await writer.execute(
            text("SELECT setval(CAST(:sequence AS regclass), :largest)"), {"sequence": sequence, "largest": largest}
        )


def plain(source: Table) -> TableClause:
    """Return the table with its texts as they exist: what a type would make of them is not the copy's business."""
    own = Json, Message, Sealed
    types = ((c.name, c.type.impl_instance if isinstance(c.type, own) else c.type) for c in source.columns)
    return table(source.name, *(column(name, kind) for name, kind in types))


def _number(row: Row[Any]) -> int:
    return int.from_bytes(hashlib.sha256(repr(tuple(row)).encode()).digest(), "big")
