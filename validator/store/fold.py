"""Folding a round: its rows and documents become one record, its input what differs from an earlier one."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Select, Table, Text, and_, cast, delete, exists, func, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store import inputs
from validator.store.codec import Base, base_of, expanded, expanded_beside, stored_after
from validator.store.copying import plain
from validator.store.engine import Store
from validator.store.errors import DamagedError
from validator.store.folding.memory import ordered
from validator.store.folding.names import addresses
from validator.store.folding.record import DOCUMENTS, EMPTIED, LEAVING, LEVEL, NAMED, ORDER, folded, unfolded
from validator.store.signed import attestations_of
from validator.store.tables import (
    dispatches,
    folded_rounds,
    proofs,
    reputation_events,
    rounds,
    sssas,
    workflow_runs,
)
from validator.store.transaction import Transaction

_ENDED: Final = ("settled", "void")
Rows = list[dict[str, Any]]
MOST: Final = 16 * 1024 * 1024  # bytes of a round's documents: of a larger one folding would take memory and seconds
_DEAR: Final = 2 * 1024 * 1024  # bytes of a record; level 19 takes a second for every six of them
_QUICK_LEVEL: Final = 9
_AT_ONCE: Final = 500  # parameters of a statement
_IDS: Final = 200  # looked for at a time


async def fold_ended(store: Store, most: int | None = None, folded: Callable[[int], None] = lambda _id: None) -> int:
    """Fold rounds that have ended, oldest first; return how many.

    Who is ended while this runs finds every round whole: the next one goes on with those that are left.

    Args:
        store: to work on.
        most: so many at most; None for all.
        folded: called with each.

    Raises:
        StoreError: the store cannot be written; what was folded until then stays so.
    """
    done, after = 0, -1
    while most is None or done < most:
        async with store.read() as tx:
            found = await unfolded_ids(tx, _IDS if most is None else min(_IDS, most - done), after)
        if not found:
            break
        for round_id in found:
            async with store.begin() as tx:
                if await fold_round(tx, round_id):
                    done += 1
                    folded(round_id)
        after = found[-1]
    return done


async def fold_round(tx: Transaction, round_id: int) -> bool:
    """Fold a round that has ended; whoever reads it sees no difference.

    Returns:
        Whether it was folded: not where it is already, has not ended, is too large, holds what cannot be read, or would
        lie beside rounds that are being archived without it.
    """
    its = select(rounds.c.state).where(rounds.c.round_id == round_id, rounds.c.input.is_not(None))
    if await tx.connection.scalar(its) not in _ENDED or await _is_folded(tx, round_id):
        return False
    if await _is_left_behind(tx, round_id) or await _stored_bytes(tx, round_id) > MOST:
        return False
    try:
        rows = await _rows(tx, round_id)
        data = await tx.packing.input_document(round_id, rows[rounds][0]["input"], tx.connection)
        earlier = await tx.packing.folded.inputs.base(round_id, tx.connection)
        first = await tx.packing.folded.base(round_id, tx.connection)
        record = await tx.packing.aside(_record, rows, data, first)
        smaller_input = await tx.packing.aside(stored_after, data, earlier, inputs.LEVEL)
    except DamagedError:
        return False
    if record is None:
        return False
    await tx.connection.execute(plain(folded_rounds).insert().values(round_id=round_id, record=record))
    await _remove(tx, round_id, rows, smaller_input)
    return True


async def unfolded_ids(tx: Transaction, most: int, after: int = -1) -> tuple[int, ...]:
    """Return rounds that have ended and are not folded, oldest first.

    Args:
        tx: to look in.
        most: so many at most.
        after: only later ones.
    """
    there = exists().where(folded_rounds.c.round_id == rounds.c.round_id)
    r = rounds.c  # one without an input is in an archive file
    statement = select(r.round_id).where(r.state.in_(_ENDED), r.input.is_not(None), r.round_id > after, ~there)
    found = await tx.connection.scalars(statement.order_by(r.round_id).limit(most))
    return tuple(found)


async def _is_folded(tx: Transaction, round_id: int) -> bool:
    its = select(folded_rounds.c.round_id).where(folded_rounds.c.round_id == round_id)
    return await tx.connection.scalar(its) is not None


async def _is_left_behind(tx: Transaction, round_id: int) -> bool:
    """Whether earlier rounds of its block are in a file and not yet removed; it could not do without them."""
    begins = round_id - round_id % inputs.BLOCK
    spans = await tx.archives.spans()
    return any(begins <= one.last_round < round_id and one.removed_through < one.last_round for one in spans)


async def _stored_bytes(tx: Transaction, round_id: int) -> int:
    """Return about how many bytes folding a round would begin with; they were chosen by miners."""
    d, s, p = dispatches.c, sssas.c, proofs.c
    lengths = (
        select(func.sum(func.length(s.document)))
        .join(dispatches, s.sha256 == d.signed_sha256)
        .where(d.round_id == round_id),
        select(func.sum(func.length(cast(d.submission, Text)))).where(d.round_id == round_id),
        select(func.sum(func.length(p.document))).where(p.round_id == round_id),
    )
    return sum([int(await tx.connection.scalar(one) or 0) for one in lengths])


async def _rows(tx: Transaction, round_id: int) -> dict[Table, Rows]:
    """Return the rows that leave, and those that lose columns, with the documents that they name in their order."""
    rows = {table: await _rows_in(tx.connection, table, round_id) for table in (rounds, dispatches, *LEAVING)}
    answers = [json.loads(row["submission"]) for row in rows[dispatches] if row["submission"] is not None]
    named = {
        sssas: [row["sssa_sha256"] for row in rows[dispatches] if row["sssa_sha256"] is not None],
        workflow_runs: [one["run_sha256"] for one in answers if "run_sha256" in one],
    }
    for table in NAMED:
        rows[table] = await _documents(tx, table, [*dict.fromkeys(named[table])])
    return rows


async def _rows_in(store: AsyncConnection, table: Table, round_id: int) -> Rows:
    found = await store.execute(_of_round(table), {"of_round": round_id})
    return [dict(row) for row in found.mappings()]


@cache
def _of_round(table: Table) -> Select[Any]:
    return ordered(table, plain(table))


async def _documents(tx: Transaction, table: Table, digests: list[str]) -> Rows:
    found: dict[str, dict[str, Any]] = {}
    for first in range(0, len(digests), _AT_ONCE):
        raw = plain(table)
        statement = select(raw).where(raw.c.sha256.in_(digests[first : first + _AT_ONCE]))
        found |= {row.sha256: dict(row._mapping) for row in await tx.connection.execute(statement)}  # noqa: SLF001 - SQLAlchemy's public name
    if len(found) != len(digests):
        raise DamagedError(f"{table.name} lacks what answers name")
    return [found[sha256] for sha256 in digests]


def _record(rows: Mapping[Table, Rows], round_input: bytes, first: Base | None) -> bytes | None:
    """Return the record; None where it would not give back the same.

    Raises:
        DamagedError: a document cannot be read, or all of them are too large.
    """
    room = _Room(MOST)
    signed = {row["sha256"]: row["document"] for row in rows[sssas]}
    attested: dict[str, list[bytes]] = {}
    for row in rows[dispatches]:
        if row["sssa_sha256"] is not None:
            attested.setdefault(row["task_id"], []).append(signed[row["sssa_sha256"]])
    left = {table.name: _left(table, rows[table], room, attested) for table in ORDER}
    record = folded(left, [*(row["task_id"] for row in rows[dispatches]), *addresses(round_input)])
    same = unfolded(record).rows() == {name: found for name, found in left.items() if found}
    return stored_after(record, first, LEVEL if len(record) <= _DEAR else _QUICK_LEVEL) if same else None


class _Room:
    """So many bytes may documents have together."""

    def __init__(self, most: int) -> None:
        self._left = most

    def expanded(self, blob: bytes, attested: Iterable[bytes]) -> bytes:
        """Return a document (DamagedError: as `codec.expanded`, and where the room does not suffice).

        Args:
            blob: as it is stored.
            attested: attestations of its task, which a large proof is stored beside.
        """
        round_id = base_of(blob)
        if round_id is None:
            data = expanded(blob, self._left)
        else:
            attestations = attestations_of(round_id, map(expanded, attested))
            data = expanded_beside(blob, attestations.data, self._left)
        self._left -= len(data)
        return data


def _left(table: Table, rows: Rows, room: _Room, attested: Mapping[str, Sequence[bytes]]) -> Rows:
    """Return what a record has of a table's rows: documents unpacked, an enum's member as its plain value."""
    names = EMPTIED.get(table)
    return [
        {
            name: _value(name, value, room, attested.get(row.get("task_id", ""), ()))
            for name, value in row.items()
            if names is None or name in names
        }
        for row in rows
    ]


def _value(name: str, value: Any, room: _Room, attested: Sequence[bytes]) -> Any:
    if name in DOCUMENTS and value is not None:
        return room.expanded(value, attested)
    return str(value) if isinstance(value, str) else value


async def _remove(tx: Transaction, round_id: int, rows: Mapping[Table, Rows], smaller_input: bytes) -> None:
    for table in LEAVING:
        if table is not reputation_events:
            await tx.connection.execute(delete(table).where(table.c.round_id == round_id))
    await _remove_events(tx, round_id, rows[reputation_events])
    for table, names in EMPTIED.items():
        raw = plain(table)
        values: dict[str, Any] = dict.fromkeys(names) | ({"input": smaller_input} if table is rounds else {})
        await tx.connection.execute(update(raw).where(raw.c.round_id == round_id).values(values))
        await _moved_together(tx, table, round_id)
    d = dispatches.c
    digests = [row["sha256"] for row in rows[sssas]]
    for first in range(0, len(digests), _AT_ONCE):
        some = digests[first : first + _AT_ONCE]
        elsewhere = exists().where(and_(d.signed_sha256 == sssas.c.sha256))
        await tx.connection.execute(delete(sssas).where(sssas.c.sha256.in_(some), ~elsewhere))
    runs = [row["sha256"] for row in rows[workflow_runs]]  # of one answer each: its id is in the document
    for first in range(0, len(runs), _AT_ONCE):
        its = workflow_runs.c.sha256.in_(runs[first : first + _AT_ONCE])
        await tx.connection.execute(delete(workflow_runs).where(its))


async def _remove_events(tx: Transaction, round_id: int, events: Rows) -> None:
    """Remove the round's events but for the newest of all, after whose number the next one's comes.

    With them goes the one that an earlier round has left for that reason.
    """
    e = reputation_events.c
    newest = select(func.max(e.sequence)).scalar_subquery()
    left = e.sequence == min((row["sequence"] for row in events), default=0) - 1
    gone = or_(e.round_id == round_id, and_(left, e.round_id.in_(select(folded_rounds.c.round_id))))
    await tx.connection.execute(delete(reputation_events).where(gone, e.sequence < newest))


async def _moved_together(tx: Transaction, table: Table, round_id: int) -> None:
    """Let SQLite put the rows of a round behind all others, now that they are small.

    Where they are, the room that they leave stays theirs: pages that are half empty are filled by nobody. Behind the
    others they fill pages, and those where they were are free. Postgres puts every changed row elsewhere by itself.
    """
    if tx.connection.dialect.name == "sqlite":
        behind = (
            f"(SELECT max(rowid) FROM {table.name}) - (SELECT min(rowid) FROM {table.name} WHERE round_id = :id) + 1"  # noqa: S608 - a name of ours
        )
        await tx.connection.execute(
            text(f"UPDATE {table.name} SET rowid = rowid + {behind} WHERE round_id = :id"),  # noqa: S608 - a name of ours
            {"id": round_id},
        )
