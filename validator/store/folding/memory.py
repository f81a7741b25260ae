"""Folded rounds in memory, in tables like the store's: whoever reads a round's rows reads these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, bindparam, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateTable

from validator.store.codec import Base, base_of, expanded, expanded_beside, uncompressed
from validator.store.copying import plain
from validator.store.errors import DamagedError
from validator.store.folding.record import DOCUMENTS, EMPTIED, LEAVING, MOST, NAMED, FoldedRows, unfolded
from validator.store.inline import connect
from validator.store.inputs import BLOCK, Inputs
from validator.store.memory import Memory, as_sqlite, insert_plain
from validator.store.tables import dispatches, folded_rounds, proofs, rounds, tasks

_HELD: Final = 8  # rounds
_HELD_BYTES: Final = 32 * 1024 * 1024  # of their records, but for that of the newest
_STAYING: Final = (rounds, tasks, dispatches, proofs)
_TABLES: Final = (*_STAYING, *LEAVING, *NAMED)

Rows = list[dict[str, Any]]


@dataclass(slots=True)
class FoldedRounds:
    """The newest few that somebody asked for. Use it from one event loop."""

    inputs: Inputs = field(init=False, default_factory=Inputs)
    _base: Base | None = field(init=False, default=None)
    _memory: Memory | None = field(init=False, default=None)
    _held: dict[int, int] = field(init=False, default_factory=dict)  # round to bytes

    async def of_round(self, round_id: int, store: AsyncConnection) -> AsyncConnection:
        """Return what to read a round's rows from: `store`, or a connection to those of a folded round.

        Raises:
            DamagedError: its record cannot be read.
        """
        if round_id in self._held and self._memory is not None:
            return self._memory.connection
        record = await store.scalar(select(folded_rounds.c.record).where(folded_rounds.c.round_id == round_id))
        if record is None:
            return store
        plain_record = await self._record(round_id, record, store)
        rows = await self._rows(round_id, unfolded(plain_record), store)
        connection = await self._opened()
        if len(self._held) >= _HELD or sum(self._held.values()) + len(plain_record) > _HELD_BYTES:
            self._held.clear()
            await connection.run_sync(_forget_all)
        await connection.run_sync(_remember, rows)
        self._held[round_id] = len(plain_record)
        return connection

    async def base(self, round_id: int, store: AsyncConnection) -> Base | None:
        """Return the record that a round's is stored beside: that of the first folded round of its block."""
        its = folded_rounds.c.round_id.between(round_id - round_id % BLOCK, round_id - 1)
        first = select(folded_rounds).where(its).order_by(folded_rounds.c.round_id).limit(1)
        row = (await store.execute(first)).first()
        if row is None:
            return None
        if self._base is None or self._base.round_id != row.round_id:
            self._base = Base(row.round_id, await self._record(row.round_id, row.record, store))
        return self._base

    async def _record(self, round_id: int, blob: bytes, store: AsyncConnection) -> bytes:
        base_id = base_of(blob)
        if base_id is None:
            return expanded(blob, MOST)
        base = await self.base(round_id, store)
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

    async def _rows(self, round_id: int, record: FoldedRows, store: AsyncConnection) -> dict[Table, Rows]:
        """Return a folded round's rows as they were before."""
        rows = {table: record.of(table) for table in (*LEAVING, *NAMED)}
        for table in _STAYING:
            rows[table] = await rows_in(store, table, round_id)
            if table in EMPTIED:
                rows[table] = _whole(table, rows[table], record.of(table))
        for row in rows[rounds]:
            row["input"] = await self.inputs.document(round_id, row["input"], store)
        for found in rows.values():
            for row in found:
                row |= {name: uncompressed(row[name]) for name in DOCUMENTS if row.get(name) is not None}
        return rows


async def rows_in(store: AsyncConnection, table: Table, round_id: int) -> Rows:
    """Return the rows that a table has of a round, dispatches in the order of the plan."""
    found = await store.execute(_of_round(table), {"of_round": round_id})
    return [dict(row) for row in found.mappings()]


@cache
def _of_round(table: Table) -> Select[Any]:
    raw = plain(table)
    statement = select(raw).where(raw.c.round_id == bindparam("of_round"))
    if table is not dispatches:
        return statement.order_by(*(raw.c[column.name] for column in table.primary_key))
    its = (tasks.c.round_id == raw.c.round_id) & (tasks.c.task_id == raw.c.task_id)
    return statement.join(tasks, its).order_by(tasks.c.position, raw.c.rank, raw.c.hotkey)


def _whole(table: Table, rows: Rows, left: Rows) -> Rows:
    if len(rows) != len(left):
        raise DamagedError(f"{table.name} has {len(rows)} rows of a folded round, its record {len(left)}")
    return [{**row, **more} for row, more in zip(rows, left, strict=True)]


def _remember(connection: Connection, rows: Mapping[Table, Rows]) -> None:
    for table, found in rows.items():
        if found:
            values = [tuple(map(as_sqlite, row.values())) for row in found]
            insert_plain(connection, table.name, [*map(str, found[0])], values, known=True)  # two may name one document


def _forget_all(connection: Connection) -> None:
    for table in _TABLES:
        connection.execute(delete(table))
