"""Receipts and epoch salts of rounds (SPEC 8, D-8).

A receipt is written in the transaction that ends its round. A salt is drawn, and committed to, one epoch ahead.
"""

from datetime import datetime

from sssa.protocol.receipt import ReceiptKind, RevealedSalt, RoundEnd
from sssa.protocol.signatures import Signer
from sssa.sources import Clock, RandomBytes
from validator.store import Store, Transaction
from validator.store.log import append, commitments, pending_salt
from validator.store.rows import SaltRecord


async def salt_to_use(tx: Transaction, epoch: int, random: RandomBytes) -> SaltRecord:
    """Return the salt of the epoch, or the pending one that `epoch_salt` would assign. Assigns nothing."""
    return await tx.salts.current(epoch) or await pending_salt(tx, random)


async def epoch_salt(tx: Transaction, epoch: int, random: RandomBytes) -> SaltRecord:
    """Return the epoch's salt. Assign the pending salt if needed, and draw the next one.

    Call it in a transaction that writes a receipt or a round of the epoch, so that every assigned salt is in the log.
    """
    salt = await tx.salts.current(epoch)
    if salt is None:
        salt = await pending_salt(tx, random)
        await tx.salts.assign(salt.id, epoch)
    await pending_salt(tx, random)
    return salt


async def write_receipt(tx: Transaction, signer: Signer, now: datetime, end: RoundEnd) -> None:
    """Write the receipt of a round that ends in this transaction; call it after the round is closed.

    It reveals the salts of all earlier epochs (WrongStateError: no salt is committed to for the next epoch).
    """
    await _append(tx, signer, now, "round", end)


async def close_epoch(store: Store, signer: Signer, clock: Clock) -> bool:
    """Reveal the salt of the current epoch when a local network ends; return whether that was done.

    It is not done while a round is open, or if no salt was assigned. Later rounds of that epoch are skipped.
    """
    async with store.begin() as tx:
        newest = await tx.salts.newest()
        if newest is None or newest.revealed_in is not None or await tx.rounds.unfinished():
            return False
        await _append(tx, signer, clock.now(), "closing", None)
        return True


async def is_over(tx: Transaction, epoch: int) -> bool:
    """Return whether `epoch` is closed to new rounds: a later one has begun, or its salt is public."""
    newest = await tx.salts.newest()
    return newest is not None and newest.epoch is not None and _is_over(newest, newest.epoch, epoch)


def _is_over(newest: SaltRecord, running: int, epoch: int) -> bool:
    return epoch < running or (epoch == running and newest.revealed_in is not None)


async def _append(tx: Transaction, signer: Signer, now: datetime, kind: ReceiptKind, end: RoundEnd | None) -> None:
    committed = await commitments(tx)
    over = await _over(tx, kind, committed.epoch)
    sequence = await append(tx, signer, now, kind, committed, round=end, salts=tuple(salt for _, salt in over))
    for salt_id, _ in over:
        await tx.salts.revealed(salt_id, sequence)


async def _over(tx: Transaction, kind: ReceiptKind, epoch: int | None) -> list[tuple[int, RevealedSalt]]:
    """Return the salts that this receipt makes public, with their ids in the store."""
    if epoch is None:
        return []
    records = await tx.salts.over(epoch + 1 if kind == "closing" else epoch)
    return [(salt.id, RevealedSalt(salt.epoch, salt.salt.hex())) for salt in records if salt.epoch is not None]
