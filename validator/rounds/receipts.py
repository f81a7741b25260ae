"""The log: every end of a round is one signed receipt, written in the transaction that ends it (SPEC 8)."""

from datetime import datetime

from validator.protocol.receipt import (
    RECEIPT_VERSION,
    Receipt,
    ReceiptKind,
    RevealedSalt,
    RoundEnd,
    line,
    line_digest,
)
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.protocol.times import format_time
from validator.rounds.salts import pending_salt
from validator.sources import Clock, RandomBytes
from validator.store import Store, Transaction
from validator.store.errors import WrongStateError
from validator.store.records import SaltRecord
from validator.store.signed import ReceiptRecord

_UNSIGNED = "0x" + "0" * 128


async def open_log(tx: Transaction, signer: Signer, now: datetime, random: RandomBytes, first_round: int) -> None:
    """Write the receipt that opens the log, unless there is one: it commits to the salt of the first epoch."""
    if not await tx.receipts.count():
        await pending_salt(tx, random)
        await _append(tx, signer, now, "opening", first_round=first_round)


async def write_receipt(tx: Transaction, signer: Signer, now: datetime, end: RoundEnd) -> None:
    """Write the receipt of a round that ends in this transaction; call it after the round is closed.

    It makes the salts of all epochs before this one public. Where a version without receipts opened the round, the log
    is opened first.

    Raises:
        WrongStateError: no salt is committed to for the next epoch.
    """
    if not await tx.receipts.count():
        await _append(tx, signer, now, "opening", first_round=end.index)
    await _append(tx, signer, now, "round", end=end)


async def close_epoch(store: Store, signer: Signer, clock: Clock) -> bool:
    """Make the salt of the running epoch public, for a network that ends; return whether that was done.

    It is not while a round is open or was never begun. No further round is drawn in that epoch: it would be skipped.
    """
    async with store.begin() as tx:
        newest = await tx.salts.newest()
        if newest is None or newest.revealed_in is not None or await tx.rounds.unfinished():
            return False
        await _append(tx, signer, clock.now(), "closing")
        return True


async def is_over(tx: Transaction, epoch: int) -> bool:
    """Whether no round may be drawn in `epoch` any more: a later one has begun, or its salt is public."""
    newest = await tx.salts.newest()
    return newest is not None and newest.epoch is not None and _is_over(newest, newest.epoch, epoch)


def _is_over(newest: SaltRecord, running: int, epoch: int) -> bool:
    return epoch < running or (epoch == running and newest.revealed_in is not None)


async def _append(  # noqa: PLR0913 - what a receipt is made of
    tx: Transaction,
    signer: Signer,
    now: datetime,
    kind: ReceiptKind,
    *,
    first_round: int | None = None,
    end: RoundEnd | None = None,
) -> None:
    last, running, pending = await tx.receipts.last(), await tx.salts.newest(), await tx.salts.pending()
    if pending is None:
        raise WrongStateError("no salt is committed to for the next epoch")
    over = await _over(tx, kind, running)
    unsigned = Receipt(
        receipt_version=RECEIPT_VERSION,
        sequence=0 if last is None else last.sequence + 1,
        kind=kind,
        validator_hotkey=signer.hotkey,
        issued_at=format_time(now),
        previous=None if last is None else last.sha256,
        first_round=None if first_round is None else str(first_round),
        round=end,
        epoch=None if running is None else running.epoch,
        commitment=None if running is None else running.commitment,
        next_commitment=pending.commitment,
        salts=tuple(revealed for _, revealed in over),
        signature=Signature(signer.hotkey, "sr25519", _UNSIGNED),
    )
    data = line("receipt", signer.sign_document(unsigned))
    round_id = None if end is None else end.index
    await tx.receipts.add(ReceiptRecord(unsigned.sequence, kind, round_id, line_digest(data), data))
    for salt_id, _ in over:
        await tx.salts.revealed(salt_id, unsigned.sequence)


async def _over(tx: Transaction, kind: ReceiptKind, running: SaltRecord | None) -> list[tuple[int, RevealedSalt]]:
    """Return the salts that this receipt makes public, with their ids in the store."""
    if running is None or running.epoch is None or kind == "opening":
        return []
    found = await tx.salts.over(running.epoch + 1 if kind == "closing" else running.epoch)
    return [(salt.id, RevealedSalt(salt.epoch, salt.salt.hex())) for salt in found if salt.epoch is not None]
