"""Old rounds out of the store into files, in an order that no kill turns: a round is always in one place at least."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from validator.protocol.signatures import Signer
from validator.protocol.text import printable
from validator.store.archive.file import ArchiveFile, archives_in, name_of, open_archive, open_known, refused
from validator.store.archived import ArchivedSpan
from validator.store.archiving.choosing import KEPT_ROUNDS, Choice, choose
from validator.store.archiving.removing import remove
from validator.store.archiving.writing import Advance, Rounds, require_same, write_archive
from validator.store.engine import Store
from validator.store.errors import ArchiveError
from validator.store.stepping import state_after

FILE_ROUNDS: Final = 500
STEPS: Final = 3  # of a round: written, read back, removed


def _unsaid() -> None:
    """Say nothing of a step."""


@dataclass(frozen=True, slots=True)
class Archiver:
    """Takes rounds out of a store.

    Args:
        store: a validator may be running on it.
        folder: where the files go.
        signer: the validator's hotkey.
        now: when.
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
    advance: Advance = _unsaid

    async def plan(self, before: datetime) -> tuple[Choice, int]:
        """Return which rounds may go, and how many are left of files that were begun.

        Raises:
            ArchiveError: the log is another hotkey's.
        """
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
                await require_same(self.store.read, open_known(self.folder, span), span.removed_through, self.advance)
                yield await self._removed(span)
        first = choice.first
        while first <= choice.last:
            found = await self._file(Rounds(first, min(first + self.file_rounds - 1, choice.last)), choice.last)
            await require_same(self.store.read, found, first - 1, self.advance)
            span = ArchivedSpan(
                first, found.manifest.last_round, found.path.name, found.sha256, found.size, first - 1, self.now
            )
            async with self.store.read() as tx:
                state = await state_after(tx, span.last_round)
            async with self.store.begin() as tx:
                await tx.archives.add(span)
                await tx.state.copy(span.last_round, state)  # what stays is stepped from it
            yield await self._removed(span)
            first = span.last_round + 1

    async def _file(self, rounds: Rounds, newest: int) -> ArchiveFile:
        """Return a file from this round on: one that a killed run has left, or a new one."""
        there = archives_in(self.folder, rounds.first)
        if len(there) > 1:
            raise refused(there[1], f"holds rounds that {there[0].name} holds as well; move the wrong one away")
        if not there:
            return open_archive(await self._written(rounds))
        found = open_archive(there[0])
        manifest = found.manifest
        if manifest.validator_hotkey != self.signer.hotkey:
            raise refused(found.path, f"is of the validator {manifest.validator_hotkey}; move it away")
        if manifest.first_round != rounds.first or name_of(rounds.first, manifest.last_round) != found.path.name:
            raise refused(found.path, "holds other rounds than its name says; move it away")
        if manifest.last_round > newest:
            raise refused(found.path, f"goes to round {manifest.last_round}, which may not go yet; move it away")
        for _ in range(rounds.first, manifest.last_round + 1):
            self.advance()
        return found

    async def _written(self, rounds: Rounds) -> Path:
        async with self.store.read() as tx:
            newest = await tx.rounds.newest_frozen()
        netuid = None if newest is None else newest.netuid
        return await write_archive(self.store.read, self.folder, rounds, self.signer, netuid, self.advance)

    async def _removed(self, span: ArchivedSpan) -> ArchivedSpan:
        await remove(self.store, span, self.advance)
        return span._replace(removed_through=span.last_round)
