"""Writer and reader of the audit log in the store: receipts, signed with the change they tell of, and round lines."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from validator.protocol.draws import salt_commitment
from validator.protocol.receipt import (
    RECEIPT_VERSION,
    FateLink,
    KeyStatement,
    LineKind,
    Receipt,
    ReceiptKind,
    RevealedSalt,
    Revocation,
    RoundEnd,
    WeightsLink,
    input_lines,
    line,
    line_digest,
    stored_outcome_line,
    wrapped,
)
from validator.protocol.round import commands_of
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.protocol.times import format_time
from validator.sources import RandomBytes
from validator.store.errors import DamagedError, WrongStateError
from validator.store.record import Commands, Head, told_answers
from validator.store.repositories.receipts import receipt_of
from validator.store.rows import ReceiptRecord, SaltRecord, TaskRecord
from validator.store.transaction import Transaction

_SALT_BYTES: Final = 32
_UNSIGNED: Final = "0x" + "0" * 128


class Says(NamedTuple):
    """The subject of a receipt; what does not belong to its kind stays as it is. `salts` become public."""

    first_round: int | None = None
    end: RoundEnd | None = None
    salts: Sequence[RevealedSalt] = ()
    weights: WeightsLink | UnsetType = UNSET
    fate: FateLink | UnsetType = UNSET
    key: KeyStatement | UnsetType = UNSET
    revocation: Revocation | UnsetType = UNSET

    @property
    def subject(self) -> str | None:
        """The publishing key or what is revoked, in hex; None for other receipts."""
        if self.key is not UNSET:
            return self.key.public_key
        return None if self.revocation is UNSET else self.revocation.subject


class Commitments(NamedTuple):
    """The epoch that draws, and the commitments to its salt and the next one's."""

    epoch: int | None
    commitment: str | None
    next_commitment: str


async def commitments(tx: Transaction) -> Commitments:
    """Return the current salt (WrongStateError: no salt is committed to for the next epoch)."""
    running, pending = await tx.salts.newest(), await tx.salts.pending()
    if pending is None:
        raise WrongStateError("no salt is committed to for the next epoch")
    if running is None:
        return Commitments(None, None, pending.commitment)
    return Commitments(running.epoch, running.commitment, pending.commitment)


async def open_log(tx: Transaction, signer: Signer, now: datetime, random: RandomBytes, first_round: int) -> None:
    """Write the receipt that opens the log, unless there is one: it commits to the salt of the first epoch."""
    if not await tx.receipts.count():
        await pending_salt(tx, random)
        await append(tx, signer, now, "opening", await commitments(tx), Says(first_round=first_round))


async def append_link(
    tx: Transaction, signer: Signer, now: datetime, about: WeightsLink | FateLink | KeyStatement | Revocation
) -> int:
    """Write a receipt that is no round's, and return its number; it commits to the salts of the receipt before."""
    last = await tx.receipts.last_receipt()
    if last is None:
        raise WrongStateError("the log is not opened")
    stands = Commitments(last.epoch, last.commitment, last.next_commitment)
    if isinstance(about, WeightsLink):
        return await append(tx, signer, now, "weights", stands, Says(weights=about))
    if isinstance(about, KeyStatement):
        return await append(tx, signer, now, "key", stands, Says(key=about))
    if isinstance(about, Revocation):
        return await append(tx, signer, now, "revocation", stands, Says(revocation=about))
    return await append(tx, signer, now, "fate", stands, Says(fate=about))


async def append(  # noqa: PLR0913, PLR0917 - what a receipt is made of
    tx: Transaction, signer: Signer, now: datetime, kind: ReceiptKind, stands: Commitments, says: Says
) -> int:
    """Sign the next receipt, store it and return its number."""
    last = await tx.receipts.last()
    before = None if last is None else receipt_of(last)
    issued_at = format_time(now)  # sorts as the moments do; a clock that was set back must not show in the log
    unsigned = Receipt(
        receipt_version=RECEIPT_VERSION,
        sequence=0 if last is None else last.sequence + 1,
        kind=kind,
        validator_hotkey=signer.hotkey,
        issued_at=issued_at if before is None else max(issued_at, before.issued_at),
        previous=None if last is None else last.sha256,
        first_round=None if says.first_round is None else str(says.first_round),
        round=says.end,
        epoch=stands.epoch,
        commitment=stands.commitment,
        next_commitment=stands.next_commitment,
        salts=tuple(says.salts),
        signature=Signature(signer.hotkey, "sr25519", _UNSIGNED),
        weights=says.weights,
        fate=says.fate,
        key=says.key,
        revocation=says.revocation,
    )
    data = line("receipt", signer.sign_document(unsigned))
    round_id = None if says.end is None else says.end.index
    await tx.receipts.add(ReceiptRecord(unsigned.sequence, kind, round_id, line_digest(data), data, says.subject))
    return unsigned.sequence


async def pending_salt(tx: Transaction, random: RandomBytes) -> SaltRecord:
    """Return the salt that is committed to for the next epoch, drawing it if there is none."""
    pending = await tx.salts.pending()
    if pending is None:
        salt = random.token(_SALT_BYTES)
        commitment = salt_commitment(salt)
        pending = SaltRecord(await tx.salts.add(salt, commitment), salt, commitment, None, None, None)
    return pending


class RoundLine(NamedTuple):
    """A line of a round, without the newline; `task_id` of a truth."""

    kind: LineKind
    data: bytes
    task_id: str | None = None


async def round_lines(tx: Transaction, end: RoundEnd) -> AsyncIterator[RoundLine]:
    """Yield the lines that a round's receipt names, in their order, each compared with its digest (DamagedError)."""
    round_id, lines = end.index, end.lines
    head = await tx.records.head(round_id)
    if head is None:
        raise DamagedError(f"round {round_id} has a receipt and no record")
    truths: list[dict[str, Any]] = []
    if lines.input is not None:
        data, truths = _input(head, round_id)
        yield _held(end, "input", lines.input, data)
        for truth in truths:
            yield RoundLine("truth", line("truth", truth), truth["task_id"])
    if lines.plan is not None:
        yield _held(end, "plan", lines.plan, wrapped("plan", head.plan or b""))
    if lines.answers is not None:
        tasks = await tx.tasks.of_round(round_id)
        yield _held(end, "answers", lines.answers, await _answers(tx, head, tasks, commands_of(truths)))
        async for attestation in _attestations(tx, head, round_id):
            yield attestation
    if lines.outcome is not None:
        yield _held(end, "outcome", lines.outcome, _outcome(head, round_id, {one["task_id"] for one in truths}))
    async for proof in _proofs(tx, end):
        yield proof


async def _attestations(tx: Transaction, head: Head, round_id: int) -> AsyncIterator[RoundLine]:
    async for group in tx.records.groups(round_id):
        named = group.named()
        for one in head.dispatches:
            if one.task_id == group.task_id and one.passed is not None and one.run_sha256 is None:
                yield RoundLine("sssa", wrapped("sssa", _document(named, one.signed_sha256)))


async def _proofs(tx: Transaction, end: RoundEnd) -> AsyncIterator[RoundLine]:
    notes = {note.task_id: note.sha256 for note in end.lines.proofs}
    if notes:
        async for group in tx.records.groups(end.index):
            if group.task_id in notes:
                yield _held(end, "proof", notes.pop(group.task_id), wrapped("proof", group.proof or b""))
    for digest in notes.values():
        yield _held(end, "proof", digest, b"")


def _document(named: Mapping[str, bytes], sha256: str | None) -> bytes:
    if sha256 is None or sha256 not in named:
        raise DamagedError(f"no document {sha256} that an answer names")
    return named[sha256]


def _input(head: Head, round_id: int) -> tuple[bytes, list[dict[str, Any]]]:
    """Return the line of the input, and the documents of the truths that it commits to."""
    try:
        return input_lines(msgspec.json.decode(head.input or b""))
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DamagedError(f"round {round_id}: the stored input cannot be read") from None


def _outcome(head: Head, round_id: int, committed: Collection[str]) -> bytes:
    try:
        return b"" if head.outcome is None else stored_outcome_line(head.outcome, committed)
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DamagedError(f"round {round_id}: the stored outcome cannot be read") from None


async def _answers(tx: Transaction, head: Head, tasks: Sequence[TaskRecord], commands: Commands) -> bytes:
    with_plans = {one.task_id for one in head.dispatches if one.passed is not None and one.run_sha256 is not None}
    named: dict[str, bytes] = {}
    if with_plans:
        async for group in tx.records.groups(tasks[0].round_id):
            named |= group.named() if group.task_id in with_plans else {}
    return told_answers(head, tasks, partial(_document, named), commands)


def _held(end: RoundEnd, kind: LineKind, digest: str, data: bytes) -> RoundLine:
    if line_digest(data) != digest:
        raise DamagedError(f"round {end.round_id}: the stored {kind} is not what its receipt was written for")
    return RoundLine(kind, data)
