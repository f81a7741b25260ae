"""Folded rounds as programs before r0023 left them, made of what is folded now."""

from typing import Any

import msgspec
from sqlalchemy import insert, select, update

from validator.store.codec import Base, compressed, stored_after
from validator.store.copying import plain
from validator.store.folding.names import digests
from validator.store.folding.record import unfolded
from validator.store.tables import folded_rounds, proofs
from validator.store.transaction import Transaction


async def as_before(tx: Transaction) -> int:
    """Give every folded round the record and the rows that it had; return how many there are."""
    first: Base | None = None
    found = (await tx.connection.execute(select(folded_rounds).order_by(folded_rounds.c.round_id))).all()
    records = [await tx.packing.folded._record(round_id, blob, tx.connection) for round_id, blob in found]
    for (round_id, _), record in zip(found, records, strict=True):
        rows = unfolded(record).rows()
        left = [{"round_id": one.pop("round_id"), "task_id": one.pop("task_id")} for one in rows["proofs"]]
        emptied = [{**one, "checksum": "", "digest": "", "document": b""} for one in left]
        await tx.connection.execute(insert(plain(proofs)), emptied)
        data = first_form(rows)
        stored = compressed(data) if first is None else stored_after(data, first, 3)
        first = first or Base(round_id, data)
        its = plain(folded_rounds)
        await tx.connection.execute(update(its).where(its.c.round_id == round_id).values(record=stored))
    return len(found)


def first_form(rows: dict[str, list[dict[str, Any]]]) -> bytes:
    """Return a record with numbers as they are, and places for the digests alone."""
    documents = [row["document"] for name in ("sssas", "workflow_runs") for row in rows.get(name, ())]
    names = [digest for document in documents for digest in digests(document)]
    tables = []
    for table, found in rows.items():
        columns = [name for name in found[0] if name != "sha256"]
        tables.append([table, columns, [[_short(table, row[column], names) for row in found] for column in columns]])
    return msgspec.msgpack.encode([1, tables])


def _short(table: str, value: Any, names: list[str]) -> Any:
    if table not in ("dispatches", "proofs") or not isinstance(value, str | bytes):
        return value
    text = value.decode() if isinstance(value, bytes) else value
    for place, name in enumerate(names):
        text = text.replace(name, f"\x01{place}")
    return text.encode() if isinstance(value, bytes) else text
