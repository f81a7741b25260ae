"""Checks of a store's rows, records and log that need no scoring, for `validator db check`. Reads only."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Connection, LargeBinary, Row, Text, and_, func, or_, select, type_coerce
from sqlalchemy.exc import DBAPIError

from sssa.protocol import typed
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.dispatch_record import Dispatch
from sssa.protocol.receipt import RevealedSalt, RoundEnd
from sssa.protocol.text import printable
from sssa.state.mechanism_state import State
from validator.store.codec import expanded
from validator.store.columns import Json, Sealed, unsealed
from validator.store.errors import DamagedError
from validator.store.log import round_lines
from validator.store.repositories.state import NOTHING
from validator.store.row_check import row_faults
from validator.store.schema import VERSION_TABLE
from validator.store.stepping import steps
from validator.store.tables import (
    answers,
    bundles,
    judged_documents,
    metadata,
    receipts,
    rounds,
    salts,
    submitted_skills,
    weight_links,
)
from validator.store.transaction import Transaction

FAULTS_SHOWN: Final = 20  # of one check
_PARTITION: Final = 8


@dataclass(slots=True)
class Check:
    """One thing that was looked at: how many, printable faults (at most `FAULTS_SHOWN`), and how many more."""

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


async def _partitions(tx: Transaction, statement: Any) -> AsyncIterator[Sequence[Row[Any]]]:
    """Yield the rows of a statement, a few at a time: each may be large."""
    result = await tx.connection.stream(statement)
    async for rows in result.partitions(_PARTITION):
        yield rows


_PAGES: Final = 100


async def _look_at_pages(tx: Transaction, check: Check) -> None:
    """Run SQLite's own check of its file."""
    for (line,) in await tx.connection.exec_driver_sql(f"PRAGMA integrity_check({_PAGES})"):
        check.looked += 1
        if line != "ok":
            check.fault(str(line))


async def _look_at_tables(tx: Transaction, check: Check) -> None:
    """Compare the tables with those that the migrations make."""
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}

    def compared(sync: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(sync, opts=options), metadata))

    check.looked = len(metadata.tables)
    for difference in await tx.connection.run_sync(compared):
        check.fault(f"not as the migrations made it: {difference}")


async def _look_at_references(tx: Transaction, check: Check) -> None:
    """Count the rows that refer to none."""
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
            if many := await tx.connection.scalar(lost):
                names = ", ".join(ours.name for ours, _ in pairs)
                check.fault(f"{child.name}: {many} rows whose {names} is not in {reference.referred_table.name}")


@dataclass(frozen=True, slots=True)
class _Digested:
    """A column of bytes and the column that names their sha256."""

    blob: Column[Any]
    sha256: Column[Any]
    key: Column[Any]
    read: Callable[[bytes], bytes]


_DIGESTED: Final[Sequence[_Digested]] = (
    _Digested(rounds.c.input, rounds.c.input_sha256, rounds.c.round_id, expanded),
    _Digested(weight_links.c.line, weight_links.c.sha256, weight_links.c.sequence, expanded),
    _Digested(bundles.c.data, bundles.c.sha256, bundles.c.sha256, bytes),
    _Digested(submitted_skills.c.data, submitted_skills.c.sha256, submitted_skills.c.number, bytes),
    _Digested(salts.c.salt, salts.c.commitment, salts.c.id, bytes),
)


async def _look_at_digests(tx: Transaction, check: Check) -> None:
    """Compare every document with its digest, those of rounds included."""
    for one in _DIGESTED:
        statement = select(one.key.label("key"), one.blob.label("blob"), one.sha256.label("sha256"))
        async for rows in _partitions(tx, statement.where(one.blob.is_not(None)).order_by(one.key)):
            check.looked += len(rows)
            for key in await asyncio.to_thread(list, _unlike(rows, one.read)):
                check.fault(f"{one.blob.table.name}.{one.blob.name} of {key} is not what {one.sha256.name} names")
    await _of_values(tx, check)
    await _of_records(tx, check)
    await _of_answers(tx, check)


async def _of_values(tx: Transaction, check: Check) -> None:
    """Compare every value with the digest stored behind it."""
    for one in (one for table in metadata.sorted_tables for one in table.c if isinstance(one.type, Json | Sealed)):
        key = tuple(one.table.primary_key)
        stored = type_coerce(one, LargeBinary if isinstance(one.type, Sealed) else Text).label("stored")
        async for rows in _partitions(tx, select(*key, stored).where(one.is_not(None)).order_by(*key)):
            check.looked += len(rows)
            for row in rows:
                try:
                    unsealed(row.stored.encode() if isinstance(row.stored, str) else row.stored)
                except DamagedError:
                    check.fault(f"{one} of {', '.join(map(str, row[:-1]))} is not what was stored")


_OF_DISPATCHES: Final[Sequence[tuple[Column[Any], Callable[[Dispatch], str | None]]]] = (
    (answers.c.body, lambda one: one.raw.sha256 if one.raw else None),
    (judged_documents.c.signed, lambda one: one.signed_sha256),
    (judged_documents.c.run, lambda one: one.run_sha256),
)


async def _of_answers(tx: Transaction, check: Check) -> None:
    """Compare the bodies and documents of answers with the digests in their dispatches."""
    for blob, digest_of in _OF_DISPATCHES:
        t = blob.table.c
        for round_id in await tx.connection.scalars(select(t.round_id).distinct().order_by(t.round_id)):
            try:
                dispatched = await tx.dispatches.of_round(round_id)
                digests = {(one.task_id, one.hotkey): digest_of(one) or "" for one in dispatched}
            except DamagedError:
                continue  # the check of its record tells
            statement = select(t.task_id, t.hotkey, blob.label("blob")).where(t.round_id == round_id, blob.is_not(None))
            async for rows in _partitions(tx, statement.order_by(t.task_id, t.hotkey)):
                check.looked += len(rows)
                named = [
                    _Named(f"{one.task_id}, {one.hotkey}", one.blob, digests.get((one.task_id, one.hotkey), ""))
                    for one in rows
                ]
                for key in await asyncio.to_thread(list, _unlike(named, expanded)):
                    check.fault(f"{blob} of round {round_id}, {key} is not what its dispatch names")


async def _of_records(tx: Transaction, check: Check) -> None:
    """Compare the records with what the tables say of their rounds."""
    r = rounds.c
    ended = select(r.round_id, r.input_sha256, r.outcome_sha256)
    statement = ended.where(r.state != "open").order_by(r.round_id)
    for row in (await tx.connection.execute(statement)).all():
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


async def _look_at_rows(tx: Transaction, check: Check) -> None:
    """Compare the rows of listings, flags, window entries and waiting work with the records of their rounds."""
    ended = select(rounds.c.round_id).where(rounds.c.state != "open").order_by(rounds.c.round_id)
    for (round_id,) in (await tx.connection.execute(ended)).all():
        check.looked += 1
        try:
            for fault in await row_faults(tx, round_id):
                check.fault(f"round {round_id}: {fault}")
        except (DamagedError, ValueError) as error:
            check.fault(f"round {round_id}: cannot be compared: {error}")


class _Named(NamedTuple):
    """Bytes, and the digest that is named for them."""

    key: str
    blob: bytes
    sha256: str


def _unlike(rows: Iterable[Any], read: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield the keys of rows whose bytes do not have their digest."""
    for row in rows:
        try:
            digest = sha256_hex(read(row.blob))
        except DamagedError:
            digest = ""
        if digest != row.sha256:
            yield str(row.key)


class _Vector(msgspec.Struct):
    sha256: str


class _Link(msgspec.Struct):
    """The fields of a receipt that tie it to the one before, and to its round or its vector."""

    sequence: int
    previous: str | None
    round: RoundEnd | None
    commitment: str | None
    next_commitment: str
    salts: tuple[RevealedSalt, ...]
    weights: _Vector | None = None


async def _look_at_receipts(tx: Transaction, check: Check) -> None:
    """Check the chain of receipts, and the lines and salts that each names."""
    links = receipts.outerjoin(weight_links, weight_links.c.sequence == receipts.c.sequence)
    columns = receipts.c.sequence, receipts.c.round_id, receipts.c.line, receipts.c.sha256
    statement = select(*columns, weight_links.c.sha256.label("vector")).select_from(links)
    commitments, revealed = {None}, dict[int, set[RevealedSalt]]()
    for one in await tx.connection.execute(select(salts)):
        commitments.add(one.commitment)
        if one.revealed_in is not None:
            revealed.setdefault(one.revealed_in, set()).add(RevealedSalt(one.epoch, one.salt.hex()))
    before: str | None = None
    async for rows in _partitions(tx, statement.order_by(receipts.c.sequence)):
        for row in rows:
            try:
                line = expanded(row.line)
                link = typed.decode(line, dict[str, _Link])["receipt"]
            except (DamagedError, msgspec.MsgspecError, KeyError):
                check.fault(f"receipt {row.sequence} cannot be read")
            else:
                end, vector = link.round, link.weights
                follows = (link.sequence, link.previous) == (row.sequence, before) and row.sequence == check.looked
                sound = {
                    "is not what sha256 names": sha256_hex(line) == row.sha256,
                    "does not follow the one before": follows,
                    f"names other lines than round {row.round_id} has": end is None
                    or (end.index == row.round_id and await _held(tx, end)),
                    "names another vector than is stored for it": vector is None or row.vector == vector.sha256,
                    "commits to a salt that is not stored": {link.commitment, link.next_commitment} <= commitments,
                    "made other salts public than are marked so": revealed.get(row.sequence, set()) == set(link.salts),
                }
                for fault in (fault for fault, holds in sound.items() if not holds):
                    check.fault(f"receipt {row.sequence} {fault}")
            before = row.sha256
            check.looked += 1


async def _held(tx: Transaction, end: RoundEnd) -> bool:
    """Return whether a round has the lines that its receipt names, as far as they can be read from here."""
    try:
        async for _ in round_lines(tx, end):
            pass
    except DamagedError:
        return False
    return True


async def _look_at_state(tx: Transaction, check: Check) -> None:
    """Step from each copy of the state to the next one, and from the last to the current state."""
    copies = await tx.state.copies()
    bases: list[int | None] = [*copies] if copies else [None]
    for base, following in zip(bases, (*copies[1:], None), strict=True):
        try:
            state = NOTHING if base is None else await tx.state.copied(base)
            async for round_id, after in steps(tx, base, state, following):
                state = after
                check.looked += round_id is not None
            kept = await tx.state.whole() if following is None else await tx.state.copied(following)
        except DamagedError as error:
            check.fault(error.detail)
            continue
        _compare(check, state, kept, "" if following is None else f" of the copy after round {following}")


def _compare(check: Check, computed: State, kept: State, which: str) -> None:
    for hotkey in sorted(computed.miners.keys() | kept.miners.keys()):
        if computed.miners.get(hotkey) != kept.miners.get(hotkey):
            check.fault(f"the state{which} of {hotkey} does not follow from the rounds")
    if computed.shared != kept.shared:
        fields = kept.shared.__struct_fields__
        names = [name for name in fields if getattr(computed.shared, name) != getattr(kept.shared, name)]
        check.fault(f"{', '.join(names)} of the state{which} do not follow from the rounds")


LOOKS: Final[Mapping[str, Callable[[Transaction, Check], Awaitable[None]]]] = {
    "pages": _look_at_pages,
    "tables": _look_at_tables,
    "references": _look_at_references,
    "digests": _look_at_digests,
    "rows": _look_at_rows,
    "receipts": _look_at_receipts,
    "state": _look_at_state,
}
"""The checks, in their order."""


async def checks(tx: Transaction, names: Iterable[str] = tuple(LOOKS)) -> AsyncIterator[Check]:
    """Yield each check as it is done. Where the file itself is damaged nothing else is looked at.

    What was changed and fits its digests all the same shows only when rounds are computed again (`validator replay`).
    """
    for name in names:
        if name == "pages" and tx.connection.dialect.name != "sqlite":
            continue
        check = await _guarded(name, tx, LOOKS[name])
        yield check
        if name == "pages" and check.faults:
            return


async def _guarded(name: str, tx: Transaction, look: Callable[[Transaction, Check], Any]) -> Check:
    check = Check(name)
    try:
        await look(tx, check)
    except (DBAPIError, DamagedError) as error:
        check.fault(f"cannot be read: {error.orig if isinstance(error, DBAPIError) else error.detail}")
    return check
