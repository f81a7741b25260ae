"""What a damaged or a changed store shows without scoring anything again: pages, tables, references, digests."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, ColumnElement, Connection, Row, and_, func, or_, select, true
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol import typed
from validator.protocol.receipt import wrapped
from validator.protocol.text import printable
from validator.store.archive.checking import archive_faults, archived_rounds
from validator.store.codec import expanded
from validator.store.errors import ArchivedError, ArchiveError, DamagedError
from validator.store.packing import Packing
from validator.store.schema import VERSION_TABLE
from validator.store.tables import (
    bundles,
    declarations,
    folded_rounds,
    metadata,
    receipts,
    rounds,
    salts,
    sssas,
    weight_links,
    workflow_runs,
)
from validator.store.transaction import Transaction

FAULTS_SHOWN: Final = 20  # of one check
_PARTITION: Final = 8
_PAGES: Final = 100


@dataclass(slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: `pages`, `tables`, `references`, `digests`, `receipts`, `kept` or `archives`.
        looked: how many: lines of SQLite's own report, tables, references, documents, receipts, pairs, archived rounds.
        faults: what is wrong, printable; at most `FAULTS_SHOWN`.
        more: how many faults are not among them.
    """

    name: str
    looked: int = 0
    faults: list[str] = field(default_factory=list)
    more: int = 0

    def fault(self, text: str) -> None:
        """Note what is wrong."""
        if len(self.faults) < FAULTS_SHOWN:
            self.faults.append(printable(text, 300))
        else:
            self.more += 1


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


async def checks(connection: AsyncConnection, archive: Path | None = None) -> AsyncIterator[Check]:
    """Yield each check as it is done. Where the file itself is damaged nothing else is looked at.

    What was changed and fits its digests all the same shows only when rounds are computed again (`validator replay`).

    Args:
        connection: a read transaction of a store whose tables are of this version.
        archive: the folder with the files of old rounds; without it these are not looked at.
    """
    if connection.dialect.name == "sqlite":
        pages = await _guarded("pages", connection, _pages)
        yield pages
        if pages.faults:
            return
    yield await _guarded("tables", connection, _tables)
    yield await _guarded("references", connection, _references)
    yield await _guarded("digests", connection, _digests)
    yield await _guarded("receipts", connection, _receipts)
    yield await _guarded("kept", connection, _kept)
    yield await _guarded("archives", connection, partial(_archives, archive))


async def _guarded(name: str, connection: AsyncConnection, look: Callable[[AsyncConnection, Check], Any]) -> Check:
    check = Check(name)
    try:
        await look(connection, check)
    except DBAPIError as error:
        check.fault(f"cannot be read: {error.orig}")
    return check


async def _pages(connection: AsyncConnection, check: Check) -> None:
    for (line,) in await connection.exec_driver_sql(f"PRAGMA integrity_check({_PAGES})"):
        check.looked += 1
        if line != "ok":
            check.fault(str(line))


async def _tables(connection: AsyncConnection, check: Check) -> None:
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}

    def compared(sync: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(sync, opts=options), metadata))

    check.looked = len(metadata.tables)
    for difference in await connection.run_sync(compared):
        check.fault(f"not as the migrations made it: {difference}")


async def _references(connection: AsyncConnection, check: Check) -> None:
    for child in metadata.sorted_tables:
        for reference in child.foreign_key_constraints:
            check.looked += 1
            parent = reference.referred_table.alias("referred")
            pairs = [(element.parent, parent.c[element.column.key]) for element in reference.elements]
            lost = (
                select(func.count())
                .select_from(child.outerjoin(parent, and_(*(ours == theirs for ours, theirs in pairs))))
                .where(*(ours.is_not(None) for ours, _ in pairs), or_(*(theirs.is_(None) for _, theirs in pairs)))
            )
            if many := await connection.scalar(lost):
                names = ", ".join(ours.name for ours, _ in pairs)
                check.fault(f"{child.name}: {many} rows whose {names} is not in {reference.referred_table.name}")


async def _digests(connection: AsyncConnection, check: Check) -> None:
    for one in _DIGESTED:
        statement = select(one.key.label("key"), one.blob.label("blob"), one.sha256.label("sha256"))
        async for rows in _partitions(connection, statement.where(one.blob.is_not(None), one.rows).order_by(one.key)):
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
    return (None if data is None else _sha256(data)) == sha256


def _unlike(rows: Sequence[Row[Any]], read: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the keys of rows whose bytes do not have their digest."""
    for row in rows:
        try:
            found = _sha256(read(row.blob))
        except DamagedError:
            found = ""
        if found != row.sha256:
            yield str(row.key)


class _Note(msgspec.Struct):
    task_id: str
    sha256: str


class _Lines(msgspec.Struct):
    outcome: str | None
    proofs: tuple[_Note, ...]


class _End(msgspec.Struct):
    lines: _Lines


class _Vector(msgspec.Struct):
    sha256: str


class _Link(msgspec.Struct):
    """What of a receipt ties it to the one before, and to its round or its vector."""

    sequence: int
    previous: str | None
    round: _End | None
    weights: _Vector | None = None


async def _receipts(connection: AsyncConnection, check: Check) -> None:
    """Hold the log together: no gap, each names the one before, and outcomes, proofs and vectors are those it names."""
    found = receipts.outerjoin(weight_links, weight_links.c.sequence == receipts.c.sequence)
    vector = weight_links.c.sha256.label("vector")
    statement = select(receipts.c.sequence, receipts.c.round_id, receipts.c.line, receipts.c.sha256, vector)
    statement = statement.select_from(found)
    before: str | None = None
    tx = Transaction(connection, Packing(threads=False))
    async for rows in _partitions(connection, statement.order_by(receipts.c.sequence)):
        for row in rows:
            name = f"receipt {row.sequence}"
            try:
                line = expanded(row.line)
                link = typed.decode(line, dict[str, _Link])["receipt"]
            except (DamagedError, msgspec.MsgspecError, KeyError):
                check.fault(f"{name} cannot be read")
            else:
                if _sha256(line) != row.sha256:
                    check.fault(f"{name} is not what sha256 names")
                if (link.sequence, link.previous) != (row.sequence, before) or row.sequence != check.looked:
                    check.fault(f"{name} does not follow the one before")
                if link.round is not None and not await _held(tx, row.round_id, link.round):
                    check.fault(f"{name} names another outcome or other proofs than round {row.round_id} has")
                if link.weights is not None and row.vector != link.weights.sha256:
                    check.fault(f"{name} names another vector than is stored for it")
            before = row.sha256
            check.looked += 1
    await tx.packing.folded.close()


async def _kept(connection: AsyncConnection, check: Check) -> None:
    """Hold what is kept of the past against the rounds that it follows from."""
    tx = Transaction(connection, Packing(threads=False))
    for table, repository in (("histories", tx.histories), ("agreement_windows", tx.agreements)):
        try:
            kept: Mapping[tuple[str, str], object] = await repository.kept()
        except DamagedError as error:
            check.fault(f"{table} cannot be read ({error.detail}): `validator db check --rebuild`")
            continue
        computed: Mapping[tuple[str, str], object] = await repository.computed()
        check.looked += len(computed)
        for hotkey, skill_type in sorted(kept.keys() | computed.keys()):
            if kept.get((hotkey, skill_type)) != computed.get((hotkey, skill_type)):
                told = f"{table} of {hotkey}, {skill_type} does not follow from the rounds"
                check.fault(f"{told}: `validator db check --rebuild`")


async def _archives(archive: Path | None, connection: AsyncConnection, check: Check) -> None:
    check.looked = await archived_rounds(connection)
    for fault in await archive_faults(connection, archive):
        check.fault(fault)


async def _held(tx: Transaction, round_id: int, end: _End) -> bool:
    """Whether a round has the lines that its receipt names, as far as they can be read from here."""
    try:
        return await _lines(tx, round_id) == end.lines
    except (ArchivedError, ArchiveError):
        return True  # what is wrong with a file is told of the archives


async def _lines(tx: Transaction, round_id: int) -> _Lines | None:
    """Return the lines that a round has now; None where they cannot be read."""
    try:
        outcome = await tx.rounds.document_bytes(round_id, "outcome")
        task_ids = [task.task_id for task in await tx.tasks.of_round(round_id)]
        packed = await tx.proofs.packed(round_id, *task_ids)
        notes = [
            _Note(task_id, _sha256(wrapped("proof", (await tx.proofs.unpacked(packed[task_id])).document)))
            for task_id in task_ids
            if task_id in packed
        ]
    except DamagedError:
        return None
    return _Lines(None if outcome is None else _sha256(wrapped("outcome", outcome)), tuple(notes))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def _partitions(connection: AsyncConnection, statement: Any) -> AsyncIterator[Sequence[Row[Any]]]:
    result = await connection.stream(statement)
    async for rows in result.partitions(_PARTITION):
        yield rows
