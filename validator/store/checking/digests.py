"""Documents held against the digests that stand beside them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from sqlalchemy import Column, ColumnElement, Row, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol.canonical import sha256_hex
from validator.store.checking.check import Check, partitions
from validator.store.codec import expanded
from validator.store.errors import DamagedError
from validator.store.packing import Packing
from validator.store.tables import (
    bundles,
    declarations,
    folded_rounds,
    rounds,
    salts,
    sssas,
    weight_links,
    workflow_runs,
)
from validator.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class _Digested:
    """A column of bytes and the column that names their sha256; of some rows, where they are not all alike."""

    blob: Column[Any]
    sha256: Column[Any]
    key: Column[Any]
    read: Callable[[bytes], bytes]
    rows: ColumnElement[bool] = field(default_factory=true)


def _as_stored(blob: bytes) -> bytes:
    return blob


_DIGESTED: Final[Sequence[_Digested]] = (
    _Digested(rounds.c.outcome, rounds.c.outcome_sha256, rounds.c.round_id, expanded),
    _Digested(sssas.c.document, sssas.c.sha256, sssas.c.sha256, expanded),
    _Digested(workflow_runs.c.document, workflow_runs.c.sha256, workflow_runs.c.sha256, expanded),
    _Digested(declarations.c.document, declarations.c.sha256, declarations.c.sha256, expanded),
    _Digested(weight_links.c.line, weight_links.c.sha256, weight_links.c.sequence, expanded),
    _Digested(bundles.c.data, bundles.c.sha256, bundles.c.sha256, _as_stored, bundles.c.base_sha256.is_(None)),
    _Digested(salts.c.salt, salts.c.commitment, salts.c.id, _as_stored),
)


async def look_at_digests(connection: AsyncConnection, check: Check) -> None:
    """Look at every document that has a digest, those of rounds included."""
    for one in _DIGESTED:
        statement = select(one.key.label("key"), one.blob.label("blob"), one.sha256.label("sha256"))
        async for rows in partitions(connection, statement.where(one.blob.is_not(None), one.rows).order_by(one.key)):
            check.looked += len(rows)
            for key in await asyncio.to_thread(list, _unlike(rows, one.read)):
                check.fault(f"{one.blob.table.name}.{one.blob.name} of {key} is not what {one.sha256.name} names")
    await _of_bundles(connection, check)
    await _of_rounds(connection, check)


async def _of_bundles(connection: AsyncConnection, check: Check) -> None:
    """Look at bundles that are stored as what differs from another."""
    async for sha256, sound in Transaction(connection, Packing(threads=True)).bundles.beside_others():
        check.looked += 1
        if not sound:
            check.fault(f"bundles.data of {sha256} is not what sha256 names beside its base")


async def _of_rounds(connection: AsyncConnection, check: Check) -> None:
    """Look at inputs, which may refer to others, and at the records of folded rounds."""
    tx = Transaction(connection, Packing(threads=False))
    r = rounds.c
    statement = select(r.round_id, r.input_sha256, r.outcome_sha256, folded_rounds.c.round_id.label("folded"))
    found = statement.outerjoin(folded_rounds, folded_rounds.c.round_id == r.round_id).where(r.input.is_not(None))
    try:
        for row in (await connection.execute(found.order_by(r.round_id))).all():
            check.looked += 1 if row.folded is None else 2
            names: dict[Literal["input", "outcome"], str | None] = {"input": row.input_sha256}
            if row.folded is not None:
                names["outcome"] = row.outcome_sha256
            for which, sha256 in names.items():
                if not await _names(tx, row.round_id, which, sha256):
                    check.fault(f"rounds.{which} of {row.round_id} is not what {which}_sha256 names")
    finally:
        await tx.packing.folded.close()


async def _names(tx: Transaction, round_id: int, which: Literal["input", "outcome"], sha256: str | None) -> bool:
    try:
        data = await tx.rounds.document_bytes(round_id, which)
    except DamagedError:
        return False
    return (None if data is None else sha256_hex(data)) == sha256


def _unlike(rows: Sequence[Row[Any]], read: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the keys of rows whose bytes do not have their digest."""
    for row in rows:
        try:
            found = sha256_hex(read(row.blob))
        except DamagedError:
            found = ""
        if found != row.sha256:
            yield str(row.key)
