"""Audit files of small worlds; for the tests of receipts, export and verification."""

from pathlib import Path

from validator.audit.log import audit_lines, first_sequence
from validator.protocol.receipt import Receipt, line
from validator.protocol.signatures import Signer
from validator.protocol.strict_json import decode
from validator.store import Store


async def export(store: Store, path: Path, since: int | None = None) -> Path:
    """Write the store's log to a file."""
    async with store.read() as tx:
        first = await first_sequence(tx, since)
        assert first is not None
        numbers = range(first, await tx.receipts.count())
        lines = [data for sequence in numbers async for data in audit_lines(tx, sequence)]
    return _write(path, lines)


async def receipts(store: Store) -> list[Receipt]:
    """All receipts of the store."""
    async with store.read() as tx:
        records = [await tx.receipts.get(sequence) for sequence in range(await tx.receipts.count())]
    return [receipt_of(record.line) for record in records if record is not None]


def receipt_of(data: bytes) -> Receipt:
    return decode(data[len(b'{"receipt":') : -1], Receipt, limit=1_000_000)


def signed_again(receipt: Receipt, signer: Signer) -> bytes:
    """A receipt's line, signed as it is now."""
    return line("receipt", signer.sign_document(receipt))


def _write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(data + b"\n" for data in lines))
    return path
