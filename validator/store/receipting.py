"""The log grows: each receipt is signed in the write transaction that it tells of, so that none is missing (SPEC 8)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from validator.protocol.draws import salt_commitment
from validator.protocol.receipt import (
    RECEIPT_VERSION,
    FateLink,
    Receipt,
    ReceiptKind,
    RevealedSalt,
    RoundEnd,
    WeightsLink,
    line,
    line_digest,
)
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.protocol.times import format_time
from validator.sources import RandomBytes
from validator.store.errors import WrongStateError
from validator.store.records import SaltRecord
from validator.store.signed import ReceiptRecord
from validator.store.transaction import Transaction

_SALT_BYTES: Final = 32
_UNSIGNED: Final = "0x" + "0" * 128


class Says(NamedTuple):
    """What a receipt is about; what does not belong to its kind stays as it is.

    Attributes:
        first_round: that the log tells; of the opening alone.
        end: of a round.
        salts: that become public.
        weights, fate: of those kinds.
    """

    first_round: int | None = None
    end: RoundEnd | None = None
    salts: Sequence[RevealedSalt] = ()
    weights: WeightsLink | UnsetType = UNSET
    fate: FateLink | UnsetType = UNSET


class Commitments(NamedTuple):
    """The epoch that draws, and the commitments to its salt and the next one's."""

    epoch: int | None
    commitment: str | None
    next_commitment: str


async def commitments(tx: Transaction) -> Commitments:
    """Return what stands now.

    Raises:
        WrongStateError: no salt is committed to for the next epoch.
    """
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


async def append_link(tx: Transaction, signer: Signer, now: datetime, about: WeightsLink | FateLink) -> int:
    """Write a receipt that is no round's, and return its number. Of salts it says what the receipt before does.

    Raises:
        WrongStateError: the log is not opened.
    """
    last = await tx.receipts.last_receipt()
    if last is None:
        raise WrongStateError("the log is not opened")
    stands = Commitments(last.epoch, last.commitment, last.next_commitment)
    if isinstance(about, WeightsLink):
        return await append(tx, signer, now, "weights", stands, Says(weights=about))
    return await append(tx, signer, now, "fate", stands, Says(fate=about))


async def append(  # noqa: PLR0913, PLR0917 - what a receipt is made of
    tx: Transaction, signer: Signer, now: datetime, kind: ReceiptKind, stands: Commitments, says: Says
) -> int:
    """Sign the next receipt, store it and return its number."""
    last, before = await tx.receipts.last(), await tx.receipts.last_receipt()
    issued_at = format_time(
        now
    )  # this form sorts as the moments do; a clock that was set back must not show in the log
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
    )
    data = line("receipt", signer.sign_document(unsigned))
    round_id = None if says.end is None else says.end.index
    await tx.receipts.add(ReceiptRecord(unsigned.sequence, kind, round_id, line_digest(data), data))
    return unsigned.sequence


async def pending_salt(tx: Transaction, random: RandomBytes) -> SaltRecord:
    """Return the salt that is committed to for the next epoch, drawing it if there is none."""
    pending = await tx.salts.pending()
    if pending is None:
        salt = random.token(_SALT_BYTES)
        await tx.salts.add(salt, salt_commitment(salt))
        pending = await tx.salts.pending()
    if pending is None:
        raise RuntimeError("a salt that was just added is not there")
    return pending
