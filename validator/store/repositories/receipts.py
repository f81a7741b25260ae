"""The log of receipts: only ever appended to."""

from typing import Any

import msgspec
from sqlalchemy import Row, Select, select

from validator.protocol import typed
from validator.protocol.receipt import Receipt
from validator.store.errors import DamagedError, MismatchError
from validator.store.repositories.base import Repository
from validator.store.signed import LogHead, ReceiptRecord
from validator.store.tables import receipts


class Receipts(Repository):
    """Receipts by sequence number."""

    async def add(self, record: ReceiptRecord) -> None:
        """Append a receipt.

        Raises:
            MismatchError: its number is not the next one.
        """
        expected = await self._next(receipts, "sequence")
        if record.sequence != expected:
            raise MismatchError(f"receipt {record.sequence} where {expected} is the next")
        row = {
            "sequence": record.sequence,
            "kind": record.kind,
            "round_id": record.round_id,
            "sha256": record.sha256,
            "line": await self._packing.pack(record.line),
        }
        await self._insert(receipts, [row])

    async def last(self) -> ReceiptRecord | None:
        """Return the newest receipt, None where the log is not opened.

        Raises:
            DamagedError: its bytes do not have their digest.
        """
        return await self._one(select(receipts).order_by(receipts.c.sequence.desc()).limit(1))

    async def last_receipt(self) -> Receipt | None:
        """Return the newest receipt as a document, None where the log is not opened.

        Raises:
            DamagedError: as `last`, or it has another version's form.
        """
        record = await self.last()
        return None if record is None else receipt_of(record)

    async def head(self) -> LogHead | None:
        """Return what tells the newest receipt from all others, None where the log is not opened.

        Raises:
            DamagedError: as `last_receipt`.
        """
        record = await self.last()
        return None if record is None else LogHead(record.sequence, record.sha256, receipt_of(record).issued_at)

    async def get(self, sequence: int) -> ReceiptRecord | None:
        """Return a receipt.

        Raises:
            DamagedError: its bytes do not have their digest.
        """
        return await self._one(select(receipts).where(receipts.c.sequence == sequence))

    async def of_round(self, round_id: int) -> ReceiptRecord | None:
        """Return a round's receipt, None where it has none: it is open, or older than the log.

        Raises:
            DamagedError: its bytes do not have their digest.
        """
        return await self._one(select(receipts).where(receipts.c.round_id == round_id))

    async def count(self) -> int:
        """Return how many there are: the next sequence number."""
        return await self._next(receipts, "sequence")

    async def _one(self, statement: Select[Any]) -> ReceiptRecord | None:
        row: Row[Any] | None = await self._first(statement)
        if row is None:
            return None
        line = await self._packing.unpack(row.line, row.sha256)
        return ReceiptRecord(row.sequence, row.kind, row.round_id, row.sha256, line)


def receipt_of(record: ReceiptRecord) -> Receipt:
    """Return a stored receipt as a document.

    Raises:
        DamagedError: it has another version's form.
    """
    try:
        return typed.decode(record.line, dict[str, Receipt])["receipt"]
    except (msgspec.MsgspecError, KeyError):
        raise DamagedError(f"receipt {record.sequence} has another version's form") from None
