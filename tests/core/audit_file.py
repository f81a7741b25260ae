"""Audit files of small worlds; for the tests of receipts, export and verification."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from world import VALIDATOR

from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.log.verify_report import Verified
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.limits import MAX_LOG_LINE
from sssa.protocol.receipt import Receipt, RoundEnd, WeightsLink, line, wrapped
from sssa.protocol.signatures import Signer
from sssa.protocol.strict_json import decode, decode_plain
from validator.audit.export import audit_lines, first_sequence
from validator.store import Store

Change = Callable[[dict[str, object]], object]


async def export(store: Store, path: Path, since: int | None = None, *, public: bool = False) -> Path:
    """Write the store's log to a file."""
    async with store.read() as tx:
        first = await first_sequence(tx, since)
        assert first is not None
        numbers = range(first, await tx.receipts.count())
        lines = [data for sequence in numbers async for data in audit_lines(tx, sequence, public=public)]
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


def verified(folder: Path, data: bytes) -> Verified:
    """Verify a log written into a folder."""
    path = folder / "file.jsonl"
    path.write_bytes(data)
    return verify_file(path)


def fault_of(folder: Path, data: bytes) -> FaultError:
    """Return the error that verification of the log raises."""
    with pytest.raises(FaultError) as caught:
        verified(folder, data)
    return caught.value


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def forged(whole: bytes, number: int, change: Callable[[Receipt], Receipt]) -> bytes:
    """A log in which the validator itself wrote another receipt, and all later ones after it."""
    lines, previous = [], ""
    sequence = -1
    for data in lines_of(whole):
        if not data.startswith(b'{"receipt":'):
            lines.append(data)
            continue
        sequence += 1
        signed = data[:-1]
        if sequence >= number:
            receipt = receipt_of(signed)
            receipt = change(receipt) if sequence == number else msgspec.structs.replace(receipt, previous=previous)
            signed = signed_again(receipt, VALIDATOR)
        previous = sha256_hex(signed)
        lines.append(signed + b"\n")
    return b"".join(lines)


def other_round(receipt: Receipt, **changes: object) -> Receipt:
    assert receipt.round is not None
    return msgspec.structs.replace(receipt, round=msgspec.structs.replace(receipt.round, **changes))


def with_document(whole: bytes, kind: str, change: Change, round_id: int = 0) -> bytes:
    """A log in which the validator wrote a round's document of this kind differently, and signed that.

    The round is the one whose document of this kind is that many into the file.
    """
    lines = [data[:-1] for data in lines_of(whole)]
    places = [i for i, data in enumerate(lines) if data.startswith(b'{"%s":' % kind.encode())]
    place = places[round_id]
    document = decode_plain(lines[place][len(kind) + 4 : -1], limit=MAX_LOG_LINE)
    change(document)
    lines[place] = wrapped(kind, canonical_bytes(document))  # type: ignore[arg-type]
    digest = sha256_hex(lines[place])

    def name(receipt: Receipt) -> Receipt:
        end: RoundEnd | None = receipt.round
        assert end is not None
        return other_round(receipt, lines=msgspec.structs.replace(end.lines, **{kind: digest}))

    number = sum(data.startswith(b'{"receipt":') for data in lines[:place]) - 1
    return forged(b"".join(data + b"\n" for data in lines), number, name)


def with_weights(whole: bytes, which: int, change: Change) -> bytes:
    """A log in which the validator wrote the line of a vector differently, and signed that."""
    lines = [data[:-1] for data in lines_of(whole)]
    place = [i for i, data in enumerate(lines) if data.startswith(b'{"weights":')][which]
    document = decode_plain(lines[place][len(b'{"weights":') : -1], limit=MAX_LOG_LINE)
    change(document)
    lines[place] = wrapped("weights", canonical_bytes(document))

    def name(receipt: Receipt) -> Receipt:
        assert isinstance(receipt.weights, WeightsLink)
        link = msgspec.structs.replace(receipt.weights, sha256=sha256_hex(lines[place]))
        return msgspec.structs.replace(receipt, weights=link)

    number = sum(data.startswith(b'{"receipt":') for data in lines[:place]) - 1
    return forged(b"".join(data + b"\n" for data in lines), number, name)


def _write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"".join(data + b"\n" for data in lines))
    return path
