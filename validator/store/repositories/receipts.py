"""The append-only log of receipts, and the epochs' salts (SPEC 8)."""

from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Row, Select, bindparam, select, update

from sssa.protocol import typed
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.receipt import Receipt
from validator.store.codec import pack, unpack
from validator.store.errors import DamagedError, MismatchError, WrongStateError
from validator.store.repositories.repository import Repository
from validator.store.rows import LogHead, ReceiptRecord, SaltRecord
from validator.store.tables import receipts, rounds, salts


class Receipts(Repository):
    """Receipts by sequence number (DamagedError)."""

    async def add(self, record: ReceiptRecord) -> None:
        """Append a receipt (MismatchError: its number is not the next one)."""
        expected = await self._next(receipts, "sequence")
        if record.sequence != expected:
            raise MismatchError(f"receipt {record.sequence} where {expected} is the next")
        row = {
            "sequence": record.sequence,
            "kind": record.kind,
            "round_id": record.round_id,
            "sha256": record.sha256,
            "line": await pack(record.line),
            "subject": record.subject,
        }
        await self._insert(receipts, [row])

    async def last(self) -> ReceiptRecord | None:
        """Return the newest receipt, None where the log is not opened."""
        return await self._receipt(select(receipts).order_by(receipts.c.sequence.desc()).limit(1))

    async def last_receipt(self) -> Receipt | None:
        """Return the newest receipt as a document, None where the log is not opened."""
        record = await self.last()
        return None if record is None else receipt_of(record)

    async def head(self) -> LogHead | None:
        """Return what tells the newest receipt from all others, None where the log is not opened."""
        record = await self.last()
        return None if record is None else LogHead(record.sequence, record.sha256, receipt_of(record).issued_at)

    async def get(self, sequence: int) -> ReceiptRecord | None:
        """Return a receipt."""
        return await self._receipt(select(receipts).where(receipts.c.sequence == sequence))

    async def of_round(self, round_id: int) -> ReceiptRecord | None:
        """Return a round's receipt, None where it has none: it is open, or older than the log."""
        return await self._receipt(select(receipts).where(receipts.c.round_id == round_id))

    async def about(self, kind: Literal["key", "revocation"], subject: str | None = None) -> ReceiptRecord | None:
        """Return the newest receipt of a publishing key or a revocation, of any subject or of this one."""
        mine = select(receipts).where(receipts.c.kind == kind, receipts.c.subject.is_not(None))
        if subject is not None:
            mine = mine.where(receipts.c.subject == subject)
        return await self._receipt(mine.order_by(receipts.c.sequence.desc()).limit(1))

    async def count(self) -> int:
        """Return how many there are: the next sequence number."""
        return await self._next(receipts, "sequence")

    async def _receipt(self, statement: Select[Any]) -> ReceiptRecord | None:
        row: Row[Any] | None = await self._first(statement)
        if row is None:
            return None
        line = await unpack(row.line, row.sha256)
        return ReceiptRecord(row.sequence, row.kind, row.round_id, row.sha256, line, row.subject)


def receipt_of(record: ReceiptRecord) -> Receipt:
    """Return a stored receipt as a document (DamagedError: it has another version's form)."""
    try:
        return typed.decode(record.line, dict[str, Receipt])["receipt"]
    except (msgspec.MsgspecError, KeyError):
        raise DamagedError(f"receipt {record.sequence} has another version's form") from None


_OF_EPOCH: Final = select(salts).where(salts.c.epoch == bindparam("epoch"))


class Salts(Repository):
    """Salts, at most one per epoch; one with `epoch` None is committed to for the next."""

    async def current(self, epoch: int) -> SaltRecord | None:
        """Return the epoch's salt."""
        return await self._one(SaltRecord, _OF_EPOCH, {"epoch": epoch})

    async def pending(self) -> SaltRecord | None:
        """Return the oldest salt that no epoch uses yet."""
        return await self._one(SaltRecord, select(salts).where(salts.c.epoch.is_(None)).order_by(salts.c.id).limit(1))

    async def add(self, salt: bytes, commitment: str) -> int:
        """Keep a fresh salt of 32 random bytes and return its id (MismatchError: the commitment is not its sha256)."""
        if sha256_hex(salt) != commitment:
            raise MismatchError("`commitment` is not the sha256 of `salt`")
        return await self._insert_one(salts, salt=salt, commitment=commitment)

    async def assign(self, salt_id: int, epoch: int) -> None:
        """Bind a pending salt to the epoch that uses it (WrongStateError: one of them is bound already)."""
        others = salts.alias()
        taken = select(others.c.id).where(others.c.epoch == epoch).exists()
        free = (salts.c.id == salt_id) & salts.c.epoch.is_(None) & ~taken
        if not await self._changed(update(salts).where(free).values(epoch=epoch)):
            raise WrongStateError(f"salt {salt_id} cannot become that of epoch {epoch}: one of them is bound already")

    async def newest(self) -> SaltRecord | None:
        """Return the salt of the highest epoch that has one."""
        statement = select(salts).where(salts.c.epoch.is_not(None)).order_by(salts.c.epoch.desc()).limit(1)
        return await self._one(SaltRecord, statement)

    async def over(self, before: int) -> tuple[SaltRecord, ...]:
        """Return the salts of epochs before `before` that no receipt has made public, by epoch.

        An epoch with a round that is still open is not over.
        """
        still_open = select(rounds.c.epoch).where(rounds.c.state == "open")
        mine = (salts.c.epoch < before) & salts.c.revealed_in.is_(None) & salts.c.epoch.not_in(still_open)
        return await self._each(SaltRecord, select(salts).where(mine).order_by(salts.c.epoch))

    async def revealed(self, salt_id: int, sequence: int) -> None:
        """Note the receipt that made a salt public."""
        await self._changed(update(salts).where(salts.c.id == salt_id).values(revealed_in=sequence))
