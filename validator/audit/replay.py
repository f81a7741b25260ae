"""Replay of stored rounds: the lines that a round's receipt names go from the store through the verifier of the log."""

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast

import msgspec

from sssa.log.chain import Chain
from sssa.log.folders import Bodies, Folder, Given, GivenError
from sssa.log.lines import FaultError, LineReader
from sssa.log.verify import check_round
from sssa.log.verify_report import Counts
from sssa.protocol import typed
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.text import printable
from sssa.state.mechanism_state import State
from validator.store import Store, Transaction
from validator.store.codec import expanded
from validator.store.errors import DamagedError
from validator.store.log import round_lines
from validator.store.repositories.receipts import receipt_of
from validator.store.rows import ReceiptRecord, RoundRecord, RoundState

Verdict = Literal["equal", "different", "unscored"]
_TOGETHER: Final = 1024 * 1024  # bytes of raw bodies that are kept in memory; more go to a temporary folder
_READ: Final = 8  # rounds in one read transaction


@dataclass(frozen=True, slots=True)
class RoundReplay:
    """A recomputed round.

    Attributes:
        verdict: `unscored` where nothing was scored (open, void, skipped, abandoned) and nothing differs.
        difference: the first thing that does not hold, None if everything does.
        judged: raw answers that went through the gates again.
        pruned: raw answers that are no longer stored.
        receipt: sha256 of the round's receipt, which names everything in it; None for an open round.
    """

    round_id: int
    state: RoundState
    reason: Reason | None
    scoring_version: str | None = None
    verdict: Verdict = "unscored"
    difference: str | None = None
    judged: int = 0
    pruned: int = 0
    receipt: str | None = None


@dataclass(slots=True)
class Past:
    """State after the last replayed round; `next_round` is None if that round differs or was never replayed."""

    state: State = field(default_factory=State)
    next_round: int | None = None


async def replay_rounds(store: Store, ids: Sequence[int]) -> AsyncIterator[RoundReplay]:
    """Yield the replay of each stored round, in the order of `ids`. Rounds are read a few at a time.

    Raises:
        StoreError: the store cannot be used.
    """
    past = Past()
    for first in range(0, len(ids), _READ):
        async with store.read() as tx:
            for round_id in ids[first : first + _READ]:
                replayed = await replay_round(tx, round_id, past)
                if replayed is not None:
                    yield replayed


async def replay_round(tx: Transaction, round_id: int, past: Past | None = None) -> RoundReplay | None:
    """Return the recomputed round, None if there is no such round. Runs in a read transaction.

    `past` takes in the state after the round. What it does not know, because the round before was not replayed or
    differs, is taken from the round's own input.
    """
    record = await tx.rounds.record(round_id)
    if record is None:
        return None
    past = past or Past()
    state = past.state if past.next_round == round_id else State()
    past.next_round = None
    replayed = RoundReplay(record.round_id, record.state, record.reason)
    if record.state == "open":
        return replayed
    given = Given()
    try:
        receipt = await tx.receipts.of_round(round_id)
        if receipt is None:
            raise DamagedError("the round has ended and has no receipt")
        end = receipt_of(receipt).round
        replayed = replace(
            replayed, receipt=receipt.sha256, scoring_version=None if end is None else end.scoring_version
        )
        with ExitStack() as stack:
            given.answers = await _bodies(tx, round_id, stack)
            past.state = await _check(tx, record, receipt, state, given, stack)
    except FaultError as fault:
        replayed = replace(replayed, difference=f"{fault.kind}{fault.path and ', '}{fault.path}: {fault.what}")
    except (DamagedError, GivenError) as error:
        replayed = replace(replayed, difference=printable(error.detail))
    else:
        past.next_round = round_id + 1
    verdict: Verdict = "different" if replayed.difference else "equal" if record.state == "settled" else "unscored"
    judged, pruned = given.counted["answers"], given.counted["answers missing"]
    return replace(replayed, verdict=verdict, judged=judged, pruned=pruned)


async def _check(  # noqa: PLR0913, PLR0917 - a round, and what is known before it
    tx: Transaction, record: RoundRecord, stored: ReceiptRecord, state: State, given: Given, stack: ExitStack
) -> State:
    """Return the state after a round (FaultError, DamagedError, GivenError: something does not hold)."""
    receipt = receipt_of(stored)
    if (end := receipt.round) is None or sha256_hex(stored.line) != stored.sha256:
        raise DamagedError(f"receipt {stored.sequence} is not what its sha256 names, or is none of a round")
    stream = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_TOGETHER))  # noqa: SIM115 - it is one
    stream.write(stored.line + b"\n")
    async for line in round_lines(tx, end):
        stream.write(line.data + b"\n")
    stream.seek(0)
    reader = LineReader(cast("BinaryIO", stream))
    if (first := reader.next("receipt", end.round_id)) is not None:
        Chain().add(first)
    salt = await tx.salts.current(end.epoch)
    if end.lines.input is not None and (salt is None or sha256_hex(salt.salt) != receipt.commitment):
        raise DamagedError(f"the stored salt of epoch {end.epoch} is not the one that the receipt names, or is missing")
    for name in ("epoch", "block", "block_hash", "state", "reason"):
        if getattr(record, name) != getattr(end, name):
            raise DamagedError(f"round.{name}: stored {getattr(record, name)}, the receipt says {getattr(end, name)}")
    after, planned = check_round(reader, receipt, end, None if salt is None else salt.salt, state, Counts(), given)
    if (extra := reader.next("receipt", None)) is not None:
        raise extra.fault("the receipt does not name it")
    head = await tx.records.head(end.index)
    if planned is not None and head is not None and head.input is not None:
        seed = typed.decode(head.input, _Seeded).seed
        if planned.drawn and seed != planned.frozen.seed:
            raise DamagedError("input.seed: does not follow from the stored salt")  # the seed itself may be secret
    return after


class _Seeded(msgspec.Struct):
    seed: str


@dataclass(slots=True)
class _StoredBodies:
    """The stored raw answers of a round, by the sha256 that the log has of each."""

    blobs: dict[str, list[bytes]]

    def names(self) -> Iterator[str]:
        """Yield nothing: the store names each answer by its dispatch."""
        return iter(())

    def read(self, name: str, limit: int, sha256: str | None = None) -> bytes | None:
        """Return a raw answer, None if it was pruned (GivenError, DamagedError: it is not what arrived)."""
        blobs = self.blobs.get(name)
        if not blobs:
            return None
        body = expanded(blobs.pop())
        if len(body) > limit or sha256_hex(body) != sha256:
            raise GivenError("answers: a stored raw answer is not the one that arrived: other digest")
        return body


async def _bodies(tx: Transaction, round_id: int, stack: ExitStack) -> Bodies:
    """Return the stored raw answers of a round: in memory, or in a folder until the stack ends."""
    head = await tx.records.head(round_id)
    some = [one for one in head.dispatches if one.raw is not None] if head is not None else []
    if sum(one.body_bytes or 0 for one in some) <= _TOGETHER:
        stored, blobs = await tx.dispatches.bodies_of_round(round_id), dict[str, list[bytes]]()
        for one in some:
            if one.raw is not None and (one.task_id, one.hotkey) in stored:
                blobs.setdefault(one.raw.sha256, []).append(stored[one.task_id, one.hotkey])
        return _StoredBodies(blobs)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-")))
    for one in some:
        body = await tx.dispatches.answer_body(one.key)
        if one.raw is not None and body is not None:
            (folder / one.raw.sha256).write_bytes(body)
    return Folder(folder)
