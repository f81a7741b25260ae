"""What the validator signed, as stored: proofs and receipts."""

from dataclasses import dataclass, field
from typing import NamedTuple

from validator.protocol.receipt import ProofNote


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """A group's proof as stored. `document`: its canonical bytes with the signature."""

    round_id: int
    task_id: str
    checksum: str
    digest: str
    document: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PackedProof:
    """A proof on its way into the store. `packed`: its document, compressed."""

    note: ProofNote
    packed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReceiptRecord:
    """A receipt as stored. `line`: as exported, without the newline; `sha256` its digest."""

    sequence: int
    kind: str
    round_id: int | None
    sha256: str
    line: bytes = field(repr=False)


class LogHead(NamedTuple):
    """The newest receipt: what an export of the log must reach.

    Attributes:
        sequence: its number.
        digest: sha256 of its line, hex.
        issued_at: as it says (SPEC 13).
    """

    sequence: int
    digest: str
    issued_at: str
