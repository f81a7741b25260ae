"""Documents held against the digests that stand beside them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol.canonical import sha256_hex
from validator.store.checking.check import Check, partitions
from validator.store.codec import expanded
from validator.store.errors import DamagedError
from validator.store.tables import (
    bundles,
    rounds,
    salts,
    sssas,
    weight_links,
    workflow_runs,
)
from validator.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class _Digested:
    """A column of bytes and the column that names their sha256."""

    blob: Column[Any]
    sha256: Column[Any]
    key: Column[Any]
    read: Callable[[bytes], bytes]


def _as_stored(blob: bytes) -> bytes:
    return blob


_DIGESTED: Final[Sequence[_Digested]] = (
    _Digested(rounds.c.input, rounds.c.input_sha256, rounds.c.round_id, expanded),
    _Digested(sssas.c.document, sssas.c.sha256, sssas.c.sha256, expanded),
    _Digested(workflow_runs.c.document, workflow_runs.c.sha256, workflow_runs.c.sha256, expanded),
    _Digested(weight_links.c.line, weight_links.c.sha256, weight_links.c.sequence, expanded),
    _Digested(bundles.c.data, bundles.c.sha256, bundles.c.sha256, _as_stored),
    _Digested(salts.c.salt, salts.c.commitment, salts.c.id, _as_stored),
)


async def look_at_digests(connection: AsyncConnection, check: Check) -> None:
    """Look at every document that has a digest, those of rounds included."""
    for one in _DIGESTED:
        statement = select(one.key.label("key"), one.blob.label("blob"), one.sha256.label("sha256"))
        async for rows in partitions(connection, statement.where(one.blob.is_not(None)).order_by(one.key)):
            check.looked += len(rows)
            for key in await asyncio.to_thread(list, _unlike(rows, one.read)):
                check.fault(f"{one.blob.table.name}.{one.blob.name} of {key} is not what {one.sha256.name} names")
    await _of_records(connection, check)


async def _of_records(connection: AsyncConnection, check: Check) -> None:
    """Compare the records in the store with what the tables say of their rounds."""
    tx = Transaction(connection)
    archived = await tx.archives.removed_through()
    r = rounds.c
    ended = select(r.round_id, r.input_sha256, r.outcome_sha256)
    statement = ended.where(r.state != "open", r.round_id > archived).order_by(r.round_id)
    for row in (await connection.execute(statement)).all():
        check.looked += 1
        try:
            fault = await _record_fault(tx, row, check)
        except DamagedError as error:
            fault = error.detail
        if fault is not None:
            check.fault(f"the record of round {row.round_id}: {fault}")


async def _record_fault(tx: Transaction, row: Any, check: Check) -> str | None:
    head = await tx.records.head(row.round_id)
    if head is None:
        return "is missing"
    if head.input is not None and sha256_hex(head.input) != row.input_sha256:
        return "its input is not what input_sha256 names"
    if (None if head.outcome is None else sha256_hex(head.outcome)) != row.outcome_sha256:
        return "its outcome is not what outcome_sha256 names"
    if await tx.dispatches.listed(row.round_id) != head.listed():
        return "its dispatches are not those of the table"
    named: set[str] = set()
    async for group in tx.records.groups(row.round_id):
        named |= group.named().keys()
        check.looked += len(group.signed) + len(group.runs)
    wanted = {sha256 for one in head.dispatches for sha256 in (one.signed_sha256, one.run_sha256) if sha256 is not None}
    return None if wanted == named else "its documents are not those that its answers name"


def _unlike(rows: Sequence[Row[Any]], read: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the keys of rows whose bytes do not have their digest."""
    for row in rows:
        try:
            found = sha256_hex(read(row.blob))
        except DamagedError:
            found = ""
        if found != row.sha256:
            yield str(row.key)
