"""Writer and reader of the audit log in the store: receipts, signed with the change they tell of, and round lines."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from sssa.protocol.draws import salt_commitment
from sssa.protocol.receipt import (
    RECEIPT_VERSION,
    FateLink,
    KeyStatement,
    LineKind,
    Receipt,
    ReceiptKind,
    Revocation,
    RoundEnd,
    WeightsLink,
    input_lines,
    line,
    line_digest,
    outcome_line,
    wrapped,
)
from sssa.protocol.round import commands_of, published_outcome
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Signature
from sssa.protocol.times import format_time
from sssa.sources import RandomBytes
from validator.store.errors import DamagedError, WrongStateError
from validator.store.identity import require_same
from validator.store.record import Commands, Head, recorded_answers_line
from validator.store.repositories.receipts import receipt_of
from validator.store.rows import ReceiptRecord, SaltRecord, TaskRecord
from validator.store.transaction import Transaction

_SALT_BYTES: Final = 32
_UNSIGNED: Final = "0x" + "0" * 128


Link = WeightsLink | FateLink | KeyStatement | Revocation
_KINDS: Final[Mapping[type[Link], ReceiptKind]] = {
    WeightsLink: "weights",
    FateLink: "fate",
    KeyStatement: "key",
    Revocation: "revocation",
}


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
        await append(tx, signer, now, "opening", await commitments(tx), first_round=str(first_round))


async def append_link(tx: Transaction, signer: Signer, now: datetime, about: Link) -> int:
    """Write a receipt that is no round's, and return its number; it commits to the salts of the receipt before."""
    last = await tx.receipts.last_receipt()
    if last is None:
        raise WrongStateError("the log is not opened")
    salts = Commitments(last.epoch, last.commitment, last.next_commitment)
    kind = _KINDS[type(about)]
    return await append(tx, signer, now, kind, salts, **{kind: about})


async def append(
    tx: Transaction, signer: Signer, now: datetime, kind: ReceiptKind, committed: Commitments, **about: Any
) -> int:
    """Sign the next receipt, store it and return its number (OtherStoreError: another hotkey signed the last one).

    `about` are the fields of a `Receipt` of this kind.
    """
    last = await tx.receipts.last()
    before = None if last is None else receipt_of(last)
    if before is not None:
        require_same(before.validator_hotkey, signer.hotkey)
    issued_at = format_time(now)  # sorts as the moments do; a clock that was set back must not show in the log
    unsigned = Receipt(
        receipt_version=RECEIPT_VERSION,
        sequence=0 if last is None else last.sequence + 1,
        kind=kind,
        validator_hotkey=signer.hotkey,
        issued_at=issued_at if before is None else max(issued_at, before.issued_at),
        previous=None if last is None else last.sha256,
        **committed._asdict(),
        signature=Signature(signer.hotkey, "sr25519", _UNSIGNED),
        **{"first_round": None, "round": None, "salts": ()} | about,
    )
    data = line("receipt", signer.sign_document(unsigned))
    round_id = None if unsigned.round is None else unsigned.round.index
    await tx.receipts.add(ReceiptRecord(unsigned.sequence, kind, round_id, line_digest(data), data, _subject(unsigned)))
    return unsigned.sequence


def _subject(receipt: Receipt) -> str | None:
    """Return the publishing key or what is revoked, in hex; None for other receipts."""
    if receipt.key is not UNSET:
        return receipt.key.public_key
    return None if receipt.revocation is UNSET else receipt.revocation.subject


async def pending_salt(tx: Transaction, random: RandomBytes) -> SaltRecord:
    """Return the salt that is committed to for the next epoch, drawing it if there is none."""
    pending = await tx.salts.pending()
    if pending is None:
        salt = random.token(_SALT_BYTES)
        commitment = salt_commitment(salt)
        pending = SaltRecord(await tx.salts.add(salt, commitment), salt, commitment, None)
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
        data, truths, curated = _input(head, round_id)
        yield _held(end, "input", lines.input, data)
        for truth in truths:
            yield RoundLine("truth", line("truth", truth), truth["task_id"])
        if curated is not None:
            yield RoundLine("curated", line("curated", curated))
    if lines.plan is not None:
        yield _held(end, "plan", lines.plan, wrapped("plan", head.plan or b""))
    if lines.answers is not None:
        tasks = await tx.tasks.of_round(round_id)
        yield _held(end, "answers", lines.answers, await _answers(tx, head, tasks, commands_of(truths)))
        async for attestation in _attestations(tx, head, round_id):
            yield attestation
    if lines.outcome is not None:
        outcome = await tx.records.outcome(round_id)
        committed = {one["task_id"] for one in truths}
        data = b"" if outcome is None else outcome_line(published_outcome(outcome, committed))
        yield _held(end, "outcome", lines.outcome, data)
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


def _input(head: Head, round_id: int) -> tuple[bytes, list[dict[str, Any]], dict[str, Any] | None]:
    """Return the line of the input, and the documents that it commits to; see `input_lines`."""
    try:
        return input_lines(msgspec.json.decode(head.input or b""))
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DamagedError(f"round {round_id}: the stored input cannot be read") from None


async def _answers(tx: Transaction, head: Head, tasks: Sequence[TaskRecord], commands: Commands) -> bytes:
    with_plans = {one.task_id for one in head.dispatches if one.passed is not None and one.run_sha256 is not None}
    named: dict[str, bytes] = {}
    if with_plans:
        async for group in tx.records.groups(tasks[0].round_id):
            named |= group.named() if group.task_id in with_plans else {}
    return recorded_answers_line(head, tasks, partial(_document, named), commands)


def _held(end: RoundEnd, kind: LineKind, digest: str, data: bytes) -> RoundLine:
    if line_digest(data) != digest:
        raise DamagedError(f"round {end.round_id}: the stored {kind} is not what its receipt was written for")
    return RoundLine(kind, data)
