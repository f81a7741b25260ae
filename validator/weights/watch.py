"""Watch on this hotkey's updates on chain: confirms or expires submissions, and locks on another program's.

Writes the store and, with a lock, the stop-file. Called by the weights loop; anchors and preview read its lock.
"""

import asyncio
import os
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import structlog

from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.protocol.times import format_time
from sssa.sources import Clock
from validator.settings.model import Settings
from validator.store import Store, Transaction
from validator.store.rows import RowState, WeightMark, WeightsRecord
from validator.store.urls import file_next_to_store
from validator.telemetry import Event
from validator.weights.chain_view import Blocker, ChainReader, ChainView, Slot
from validator.weights.guard import WRONG_ROWS, KnownUpdates, UpdateOrigin, row_state, rule
from validator.weights.submission import WeightsLog

CLEAR: Final = "validator weights unlock --reason TEXT"
_MAX_FILE: Final = 4_096
_NAME: Final = "weights-locked"


class WeightsLockedError(ValidatorError):
    """Weights are locked, because another program uses this hotkey."""


def stop_file_of(settings: Settings) -> Path:
    """Return the path of the stop-file: as set, else next to the SQLite file, else in the working folder."""
    if settings.weights.stop_file is not None:
        return settings.weights.stop_file
    return file_next_to_store(settings.store.url, _NAME)


@dataclass(frozen=True, slots=True)
class WeightsLock:
    """Lock on weights, which stays until the operator clears it."""

    store: Store
    clock: Clock
    file: Path

    async def check(self) -> None:
        """Return if nothing is locked (WeightsLockedError: the file, the cause and the command that clears it)."""
        seen = await asyncio.to_thread(read_stop_file, self.file)
        if seen is None:
            async with self.store.read() as tx:
                lock = await tx.weight_guard.locked() if await tx.weight_guard.present() else None
            seen = None if lock is None else lock.seen
        if seen is not None:
            raise self._error(seen)

    async def lock(self, seen: str) -> NoReturn:
        """Lock for this cause (WeightsLockedError: always)."""
        now = self.clock.now()
        note = _write(self.file, f"{format_time(now)} {seen}\nclear with: {CLEAR}\n")
        async with self.store.begin() as tx:
            await tx.weight_guard.lock(seen, now)
        raise self._error(seen + note)

    def _error(self, seen: str) -> WeightsLockedError:
        file = printable(str(self.file.absolute()))
        return WeightsLockedError(
            f"{seen}; stop-file {file}. Stop the other program, wait for its last weights, then: {CLEAR}"
        )


async def clear(tx: Transaction, file: Path, reason: str, now: datetime) -> str | None:
    """Clear the lock in the store and return its cause; None if nothing was locked (EmptyReasonError).

    The caller removes the stop-file once this is committed.
    """
    lock = await tx.weight_guard.locked()
    seen = read_stop_file(file) if lock is None else lock.seen
    if seen is None:
        return None
    await tx.weight_guard.lock(seen, now)
    await tx.weight_guard.unlock(reason, now)
    return seen


def read_stop_file(file: Path) -> str | None:
    """Return the first line of the stop-file; None without one. A file that cannot be read locks as well."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_FILE).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"the stop-file cannot be read: {error.strerror}"
    return printable(text.strip().partition("\n")[0], 1_000) or "the stop-file exists"


def _write(file: Path, text: str) -> str:
    """Write the file through to the disk; return what went wrong, as an addition to the error's text."""
    try:
        with file.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        return f"; the stop-file could not be written ({error.strerror}), the store holds the lock"
    return ""


_STOPPED: Final = "the validator stopped before the chain answered"
_log = structlog.get_logger()


class WatchResult(NamedTuple):
    """Result of a look at the chain.

    Attributes:
        blocker: why nothing may be signed; None if signing is allowed.
        row: the newest submission that was compared with the row on chain; None before the first.
    """

    view: ChainView
    blocker: Blocker | None
    row: WeightsRecord | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """Comparison of chain and store; it locks if another program uses the hotkey."""

    store: Store
    reader: ChainReader
    lock: WeightsLock
    netuid: int
    weights_log: WeightsLog

    async def check(self) -> WatchResult:
        """Compare, and store the result. No submission of this mechanism may be in progress in this process.

        Raises:
            WeightsLockedError: an update is not ours; the lock is taken.
            ChainError, TimeoutError: the chain could not be read.
            StoreError: the store could not be written.
        """
        known = await self.known()  # first: another mechanism's weights may be confirmed while the chain is read
        view = await self.reader.look()
        origin, blocker = rule(known, view, self.reader.clock.now())
        if origin is UpdateOrigin.STRANGER:
            # The slot is read after the snapshot and may have changed hands in between: look twice.
            view = await self.reader.look()
            origin, blocker = rule(known, view, self.reader.clock.now())
        if view.slot is None or origin is UpdateOrigin.BEHIND:
            return WatchResult(view, blocker)
        if origin is UpdateOrigin.STRANGER:
            await self.lock.lock(self._stranger_message(known, view.slot))
        if origin is not None:
            await self._remember(origin, known, view, view.slot)
            if known.open is not None and origin is not UpdateOrigin.OURS:
                await self._wait_for(known.open, view)
        return WatchResult(view, blocker, await self._compare_rows(view, view.slot))

    async def _compare_rows(self, view: ChainView, slot: Slot, *, again: bool = False) -> WeightsRecord | None:
        """Compare the row on chain with our submissions; return the newest that was compared."""
        known = await self.known()
        open_rows = [one for one in known.rows if one.row_state in (None, "committed")]
        states = {one.id: row_state(one, known, view, slot) for one in open_rows}
        if not again and any(state in WRONG_ROWS for state in states.values()):
            # Commitments and row are read at the same time, and a reveal may come in between: look twice.
            view = await self.reader.look()
            return None if view.slot is None else await self._compare_rows(view, view.slot, again=True)
        newest = None
        for record in known.rows:
            state = states.get(record.id, record.row_state)
            if record.id in states and state is not None:
                async with self.store.begin() as tx:
                    await tx.weights.note_row(record.id, state, self.reader.clock.now())
                self._log_row(record, state, slot)
            if newest is None and state not in (None, "committed", "unseen", "undetermined"):
                newest = replace(record, row_state=state)
        return newest

    def _log_row(self, record: WeightsRecord, state: RowState, slot: Slot) -> None:
        """Log how the row on chain compares with the one that was sent."""
        sent, wrong = record.sent or {}, state in WRONG_ROWS
        different = sum(slot.weights.get(uid) != sent.get(uid) for uid in sent.keys() | slot.weights.keys())
        (_log.warning if wrong else _log.info)(
            Event.WEIGHTS_ROW,
            netuid=self.netuid,
            mechid=self.reader.mechid,
            epoch=record.epoch,
            block=record.block,
            state=state,
            different=different,
        )

    async def known(self) -> KnownUpdates:
        """Return the store's knowledge of our updates."""
        async with self.store.read() as tx:
            return await known_updates(tx, self.netuid, self.reader)

    async def _remember(self, origin: UpdateOrigin, known: KnownUpdates, view: ChainView, slot: Slot) -> None:
        """Store what follows from the origin of the update."""
        if origin is UpdateOrigin.SAME:
            return
        now, identity = self.reader.clock.now(), {"netuid": self.netuid, "mechid": self.reader.mechid}
        mark = WeightMark(slot.neuron.uid, slot.last_update, max(view.snapshot.block, slot.last_update))
        # Where the chain keeps no block of it, the head at signing comes closest.
        block = max(slot.last_update, (known.newest.signed_block if known.newest else None) or 0)
        async with self.store.begin() as tx:
            if origin is UpdateOrigin.OURS and known.newest is not None:
                hidden: RowState | None = "committed" if view.parameters.commit_reveal else None
                await tx.weights.update(known.newest.id, "confirmed", now, block=block, row_state=hidden)
                await self.weights_log.fate(tx, known.newest.link, "confirmed", block, known.newest.extrinsic)
            await tx.weight_guard.set_mark(self.netuid, self.reader.mechid, self.reader.hotkey, mark, now)
        if origin is UpdateOrigin.OURS and known.newest is not None:
            _log.info(Event.WEIGHTS_CONFIRMED_LATE, **identity, epoch=known.newest.epoch, block=block)
        else:
            _log.info(Event.WEIGHTS_MARKED, **identity, block=slot.last_update, uid=mark.uid, detail=origin.value)

    async def _wait_for(self, record: WeightsRecord, view: ChainView) -> None:
        """Store that a submission has not arrived yet, or that it can no longer arrive."""
        now, block, last = self.reader.clock.now(), view.snapshot.block, record.expiry_block or 0
        if record.state == "submitted":
            async with self.store.begin() as tx:
                await tx.weights.lose(record.id, now, None if record.message else _STOPPED)
                await self.weights_log.fate(tx, record.link, "unknown")
        if block <= last:
            return
        async with self.store.begin() as tx:
            await tx.weights.update(record.id, "expired", now)
            await self.weights_log.fate(tx, record.link, "expired")
        _log.warning(
            Event.WEIGHTS_EXPIRED,
            netuid=self.netuid,
            mechid=self.reader.mechid,
            epoch=record.epoch,
            attempt=record.attempts,
            block=last,
        )

    def _stranger_message(self, known: KnownUpdates, slot: Slot) -> str:
        was = "none" if known.mark is None else str(known.mark.last_update)
        return printable(
            f"netuid {self.netuid}, mechanism {self.reader.mechid}: {self.reader.hotkey} (uid {slot.neuron.uid}):"
            f" weights in block {slot.last_update} were not set by this validator, whose last are in block {was}",
            1_000,
        )


async def known_updates(tx: Transaction, netuid: int, reader: ChainReader) -> KnownUpdates:
    """Return the store's knowledge of the hotkey's updates on the subnet."""
    return KnownUpdates(
        await tx.weight_guard.mark(netuid, reader.mechid, reader.hotkey),
        await tx.weights.newest(netuid, reader.mechid),
        await tx.weights.highest_confirmed(netuid),
        await tx.weight_guard.last_written(netuid),
        await tx.weights.rows(netuid, reader.mechid),
    )
