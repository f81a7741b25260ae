"""Folded rounds in memory, in tables like the store's: whoever reads a round's rows reads these."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, TableClause, bindparam, column, delete, select
from sqlalchemy import table as lightly
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateTable

from validator.protocol.text import printable
from validator.store.codec import Base, base_of, expanded, expanded_beside, uncompressed
from validator.store.columns import Moment
from validator.store.errors import DamagedError
from validator.store.folding.record import DOCUMENTS, EMPTIED, LEAVING, MOST, NAMED, Columns, Folded, unfolded
from validator.store.inline import connect
from validator.store.inputs import BLOCK, Inputs
from validator.store.memory import Memory, as_sqlite, insert_plain
from validator.store.tables import dispatches, folded_rounds, rounds, tasks

_HELD: Final = 8  # rounds
_HELD_BYTES: Final = 32 * 1024 * 1024  # of their records, but for that of the newest
_STAYING: Final = (rounds, tasks, dispatches)
_TABLES: Final = (*_STAYING, *LEAVING, *NAMED)

_RECORD: Final = select(folded_rounds.c.record).where(folded_rounds.c.round_id == bindparam("of_round"))
_FIRST: Final = (
    select(folded_rounds)
    .where(folded_rounds.c.round_id.between(bindparam("first"), bindparam("last")))
    .order_by(folded_rounds.c.round_id)
    .limit(1)
)


@dataclass(slots=True)
class FoldedRounds:
    """The newest few that somebody asked for. Use it from one event loop."""

    inputs: Inputs = field(init=False, default_factory=Inputs)
    _base: Base | None = field(init=False, default=None)
    _memory: Memory | None = field(init=False, default=None)
    _held: dict[int, int] = field(init=False, default_factory=dict)  # round to bytes
    _loading: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def of_round(self, round_id: int, store: AsyncConnection) -> AsyncConnection:
        """Return what to read a round's rows from: `store`, or a connection to those of a folded round.

        Read from it before anything else is awaited: who asks for another round next may have this one forgotten.

        Raises:
            DamagedError: its record cannot be read.
        """
        if round_id not in self._held:
            async with self._loading:  # or two that want the same round would both put it there
                if round_id not in self._held and not await self._load(round_id, store):
                    return store
        return await self._opened()

    async def _load(self, round_id: int, store: AsyncConnection) -> bool:
        """Put a round's rows into memory; return whether it is a folded one."""
        record = await store.scalar(_RECORD, {"of_round": round_id})
        if record is None:
            return False
        plain_record = await self._record(round_id, record, store)
        tables = await self._tables(round_id, unfolded(plain_record), store)
        connection = await self._opened()
        if len(self._held) >= _HELD or sum(self._held.values()) + len(plain_record) > _HELD_BYTES:
            await self._forget(connection)
        try:
            await connection.run_sync(_remember, tables)
        except (DBAPIError, DamagedError) as error:
            await self._forget(connection)  # some of its rows may be there
            said = error.detail if isinstance(error, DamagedError) else str(error.orig)
            raise DamagedError(f"the record of round {round_id} does not fit its tables: {printable(said)}") from None
        self._held[round_id] = len(plain_record)
        return True

    async def base(self, round_id: int, store: AsyncConnection) -> Base | None:
        """Return the record that a round's is stored beside: that of the first folded round of its block."""
        block = {"first": round_id - round_id % BLOCK, "last": round_id - 1}
        row = (await store.execute(_FIRST, block)).first()
        if row is None:
            return None
        if self._base is None or self._base.round_id != row.round_id:
            self._base = Base(row.round_id, await self._record(row.round_id, row.record, store))
        return self._base

    async def _record(self, round_id: int, blob: bytes, store: AsyncConnection) -> bytes:
        base_id = base_of(blob)
        if base_id is None:
            return expanded(blob, MOST)
        known = self._base is not None and self._base.round_id == base_id
        base = self._base if known else await self.base(round_id, store)
        if base is None or base.round_id != base_id:
            raise DamagedError(
                f"the record of round {round_id} lies beside that of round {base_id}, which is not there"
            )
        return expanded_beside(blob, base.data, MOST)

    async def close(self) -> None:
        """Let go of the memory."""
        memory, self._memory = self._memory, None
        self._held.clear()
        if memory is not None:
            await memory.close()

    async def _opened(self) -> AsyncConnection:
        if self._memory is None:
            self._memory = await Memory.opened(connect)
            for table in _TABLES:
                await self._memory.connection.execute(CreateTable(table))
        return self._memory.connection

    async def _forget(self, connection: AsyncConnection) -> None:
        self._held.clear()
        await connection.run_sync(_forget_all)

    async def _tables(self, round_id: int, record: Folded, store: AsyncConnection) -> dict[Table, Columns]:
        """Return what the tables had of a folded round."""
        tables = {table: record.of(table) for table in (*LEAVING, *NAMED)}
        for table in _STAYING:
            staying = await _columns_in(store, table, round_id)
            tables[table] = _together(table, staying, record.of(table)) if table in EMPTIED else staying
        its = tables[rounds]
        its["input"] = [await self.inputs.document(round_id, blob, store) for blob in its["input"]]
        return tables


def ordered(table: Table, raw: TableClause) -> Select[Any]:
    """Return the rows that a table has of the round `of_round`, dispatches in the order of the plan.

    Args:
        table: which one.
        raw: the same, as its values are to be read.
    """
    statement = select(raw).where(raw.c.round_id == bindparam("of_round"))
    if table is not dispatches:
        return statement.order_by(*(raw.c[column.name] for column in table.primary_key))
    its = (tasks.c.round_id == raw.c.round_id) & (tasks.c.task_id == raw.c.task_id)
    return statement.join(tasks, its).order_by(tasks.c.position, raw.c.rank, raw.c.hotkey)


async def _columns_in(store: AsyncConnection, table: Table, round_id: int) -> Columns:
    found = (await store.execute(_staying(table), {"of_round": round_id})).all()
    return dict(zip(_names(table), zip(*found, strict=True), strict=True)) if found else {}


@cache
def _staying(table: Table) -> Select[Any]:
    """Return what a table still has of a folded round, its values as the database has them."""
    raw = lightly(table.name, *(column(one.name) for one in table.columns))
    return ordered(table, raw).with_only_columns(*(raw.c[name] for name in _names(table)))


@cache
def _names(table: Table) -> Sequence[str]:
    return tuple(one.name for one in table.columns if one.name not in EMPTIED.get(table, ()))


def _together(table: Table, staying: Columns, left: Columns) -> Columns:
    rows, more = (len(next(iter(columns.values()), ())) for columns in (staying, left))
    if rows != more:
        raise DamagedError(f"{table.name} has {rows} rows of a folded round, its record {more}")
    return {**staying, **left}


def _remember(connection: Connection, tables: Mapping[Table, Columns]) -> None:
    for table, columns in tables.items():
        moments = _moments(table)
        if not columns.keys() <= moments.keys():
            raise DamagedError(f"columns that {table.name} has not")
        values = [_as_kept(found, name, moment=moments[name]) for name, found in columns.items()]
        # Two rounds may name one document.
        insert_plain(connection, table.name, [*columns], [*zip(*values, strict=True)], known=table in NAMED)


@cache
def _moments(table: Table) -> Mapping[str, bool]:
    """Return which of a table's columns hold moments, by the names of all of them."""
    return {one.name: isinstance(one.type, Moment) for one in table.columns}


def _as_kept(values: Sequence[Any], name: str, *, moment: bool) -> Sequence[Any]:
    if name in DOCUMENTS:
        return [None if value is None else uncompressed(value) for value in values]
    return [*map(as_sqlite, values)] if moment else values


def _forget_all(connection: Connection) -> None:
    for table in _TABLES:
        connection.execute(delete(table))
