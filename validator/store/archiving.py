"""Removal of old rows: raw bodies and bundles after their retention, and records, which move into archive files.

At every step each round is in the store or in a file, so that a kill loses none. Called by `validator db archive` and
`prune`; the daemon prunes, and archives nothing.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.files import new_file
from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.protocol.text import printable
from validator.scoring import VERSIONS
from validator.store.archive import (
    MAGIC,
    ArchiveFile,
    Frame,
    Manifest,
    archives_in,
    name_of,
    open_archive,
    open_known,
    refused,
)
from validator.store.engine import Store
from validator.store.errors import ArchiveError
from validator.store.rows import ArchivedSpan, Pruned
from validator.store.stepping import state_after
from validator.store.tables import records, rounds, salts, waiting_work
from validator.store.transaction import Transaction
from validator.store.waiting_work import CODE, EXECUTIONS

# The failures that selection counts are of so many rounds, and the newest frozen one tells the store's version.
KEPT_ROUNDS: Final = max(version.rules.groups.history_rounds for version in VERSIONS.values()) + 1

_NAMES: Final = {EXECUTIONS: "an execution", CODE: "a code check"}


class Choice(NamedTuple):
    """The rounds `first` to `last` that may be archived next, none where `last` is lower.

    `held` is why the next may not.
    """

    first: int
    last: int
    held: str | None


async def choose(tx: Transaction, before: datetime, keep: int = KEPT_ROUNDS) -> Choice:
    """Return which rounds may leave the store.

    A round goes when it ended before `before`, its epoch's salt is public, it is not among the newest `keep`, and no
    execution or code check of it waits, runs, or has a result that no round has counted yet. Flags, agreements,
    windows, reputations, unpaid windows and submissions rest on tables that stay.
    """
    r = rounds.c
    spans = await tx.archives.spans()
    first = spans[-1].last_round + 1 if spans else 0
    following = await tx.rounds.next_id()
    secret = select(func.min(salts.c.epoch)).where(salts.c.revealed_in.is_(None)).scalar_subquery()
    holds: Mapping[str, int | None] = {
        "is among the newest, which the next rounds need": max(first, following - keep) if following else None,
        "is open": await _first(tx.connection, r.round_id, r.state == "open"),
        f"ended after {before:%Y-%m-%d %H:%M}": await _first(
            tx.connection, r.round_id, and_(r.round_id >= first, r.settled_at >= before)
        ),
        "is of an epoch whose salt is secret": await _first(tx.connection, r.round_id, r.epoch >= secret),
        **await waiting(tx.connection, first),
    }
    held = [(round_id, why) for why, round_id in holds.items() if round_id is not None]
    if not held:
        return Choice(first, first - 1, None)
    round_id, why = min(held)
    return Choice(first, round_id - 1, f"round {round_id} {why}")


async def waiting(connection: AsyncConnection, first: int, last: int | None = None) -> dict[str, int]:
    """Return the oldest of these rounds with an execution, and with a code check, that is not over."""
    c = waiting_work.c
    its = c.round_id >= first if last is None else c.round_id.between(first, last)
    uncounted = and_(c.state == "done", c.entered_in.is_(None))
    oldest = select(c.kind, func.min(c.round_id)).where(its, or_(c.state.in_(("pending", "running")), uncounted))
    found = await connection.execute(oldest.group_by(c.kind))
    return {f"has {_NAMES[kind]} that is not over, or not counted yet": int(round_id) for kind, round_id in found}


async def _first(connection: AsyncConnection, column: ColumnElement[int], where: ColumnElement[bool]) -> int | None:
    found = await connection.scalar(select(func.min(column)).where(where))
    return None if found is None else int(found)


_UNSIGNED: Final = "0x" + "0" * 128
_ROUNDS: Final = 8  # in a transaction
_ROWS: Final = 200  # of each kind in a transaction
FILE_ROUNDS: Final = 500
STEPS: Final = 3  # of a round: written, read back, removed


def _unsaid() -> None:
    """Say nothing of a step."""


@dataclass(frozen=True, slots=True)
class Archiver:
    """Moves old rounds of a store into files of a folder; a validator may be running on it.

    Args:
        keep: the newest rounds that stay.
        file_rounds: most of a file.
        advance: called for each of the `STEPS` of a round.
    """

    store: Store
    folder: Path
    signer: Signer
    now: datetime
    keep: int = KEPT_ROUNDS
    file_rounds: int = FILE_ROUNDS
    advance: Callable[[], None] = _unsaid

    async def plan(self, before: datetime) -> tuple[Choice, int]:
        """Return which rounds may go, and how many are left of files that were begun (ArchiveError)."""
        async with self.store.read() as tx:
            owner = await tx.receipts.last_receipt()
            if owner is not None and owner.validator_hotkey != self.signer.hotkey:
                raise ArchiveError(
                    f"the store's log is of {printable(owner.validator_hotkey, 60)}, the wallet's hotkey is"
                    f" {self.signer.hotkey}; correct the section wallet"
                )
            left = sum(span.last_round - span.removed_through for span in await tx.archives.spans())
            return await choose(tx, before, self.keep), left

    async def run(self, before: datetime) -> AsyncIterator[ArchivedSpan]:
        """Finish what was begun, then take every round that may go; yield each file when its rounds are removed.

        Raises:
            ArchiveError: a file in the folder is not what it should be, or a round is needed again.
            OSError: a file cannot be written; nothing of it is in the folder, and its rounds are in the store.
            StoreError: the store cannot be used.
        """
        choice, _ = await self.plan(before)
        async with self.store.read() as tx:
            spans = await tx.archives.spans()
        for span in spans:
            if span.removed_through < span.last_round:
                await self.require_same(open_known(self.folder, span), span.removed_through)
                yield await self.remove(span)
        first = choice.first
        while first <= choice.last:
            found = await self._file(first, choice.last)
            await self.require_same(found, first - 1)
            span = ArchivedSpan(
                first, found.manifest.last_round, found.path.name, found.sha256, found.size, first - 1, self.now
            )
            async with self.store.read() as tx:
                state = await state_after(tx, span.last_round)
            async with self.store.begin() as tx:
                await tx.archives.add(span)
                await tx.state.copy(span.last_round, state)  # what stays is stepped from it
            yield await self.remove(span)
            first = span.last_round + 1

    async def _file(self, first: int, newest: int) -> ArchiveFile:
        """Return a file from this round on: one that a killed run has left, or a new one."""
        there = archives_in(self.folder, first)
        if len(there) > 1:
            raise refused(there[1], f"holds rounds that {there[0].name} holds as well; move the wrong one away")
        if not there:
            return open_archive(await self.write(first, min(first + self.file_rounds - 1, newest)))
        found = open_archive(there[0])
        manifest = found.manifest
        if manifest.validator_hotkey != self.signer.hotkey:
            raise refused(found.path, f"is of the validator {manifest.validator_hotkey}; move it away")
        if manifest.first_round != first or name_of(first, manifest.last_round) != found.path.name:
            raise refused(found.path, "holds other rounds than its name says; move it away")
        if manifest.last_round > newest:
            raise refused(found.path, f"goes to round {manifest.last_round}, which may not go yet; move it away")
        for _ in range(first, manifest.last_round + 1):
            self.advance()
        return found

    async def write(self, first: int, last: int) -> Path:
        """Write a file of these ended rounds; nothing is in the folder before it is whole and on the disk."""
        async with self.store.read() as tx:
            newest = await tx.rounds.newest_frozen()
        path = self.folder / name_of(first, last)
        written: list[tuple[Frame, ...]] = []
        with new_file(path) as stream:
            stream.write(MAGIC)
            for round_id in range(first, last + 1):
                frames: list[Frame] = []
                async with self.store.read() as tx:
                    async for frame in tx.records.frames(round_id):
                        stream.write(frame)
                        frames.append(Frame(len(frame), sha256_hex(frame)))
                written.append(tuple(frames))
                self.advance()
            manifest = Manifest(
                archive_version="1",
                validator_hotkey=self.signer.hotkey,
                netuid=None if newest is None else newest.netuid,
                first_round=first,
                last_round=last,
                records=tuple(written),
                signature=Signature(self.signer.hotkey, "sr25519", _UNSIGNED),
            )
            data = canonical_bytes(self.signer.sign_document(manifest))
            stream.write(data + len(data).to_bytes(8, "big") + MAGIC)
        return path

    async def require_same(self, found: ArchiveFile, after: int) -> None:
        """Read a file in whole, and compare it with the store's records.

        Those through `after` are in files alone (ArchiveError).
        """
        for round_id in range(found.manifest.first_round, found.manifest.last_round + 1):
            archived = found.frames(round_id)
            if round_id > after:
                async with self.store.read() as tx:
                    if tuple([frame async for frame in tx.records.frames(round_id)]) != archived:
                        raise refused(found.path, f"does not have what the store has of round {round_id}; move it away")
            self.advance()

    async def remove(self, span: ArchivedSpan) -> ArchivedSpan:
        """Remove the records of a file's rounds that are still in the store; the file was compared with them.

        What was removed until an error stays removed (ArchiveError: something needs a round again).
        """
        after = span.removed_through
        while after < span.last_round:
            through = min(after + _ROUNDS, span.last_round)
            async with self.store.begin() as tx:
                for why, round_id in (await waiting(tx.connection, after + 1, through)).items():
                    raise ArchiveError(f"round {round_id} {why}; run the command again when it is")
                await tx.connection.execute(delete(records).where(records.c.round_id.between(after + 1, through)))
                await tx.archives.advance(span.first_round, after, through)
            for _ in range(after, through):
                self.advance()
            after = through
        return span._replace(removed_through=span.last_round)


async def prune(store: Store, *, answers_before: datetime, bundles_before: datetime) -> Pruned:
    """Remove raw bodies and bundles stored before these moments; return how many rows went. A validator may be running.

    What open rounds and waiting executions need stays; what was removed until an error stays removed.
    """
    answers = bundles = 0
    while True:
        async with store.begin() as tx:
            pruned = await tx.retention.prune(answers_before=answers_before, bundles_before=bundles_before, limit=_ROWS)
        answers, bundles = answers + pruned.answers, bundles + pruned.bundles
        if not any(pruned):
            return Pruned(answers, bundles)
