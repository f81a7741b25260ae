"""What the validator signed, as stored: proofs and receipts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from validator.protocol.receipt import ProofNote
from validator.store.codec import Base, compressed, stored_after

_LARGE: Final = 256 * 1024  # bytes
_LEVEL: Final = 9  # 0.1 s for 14 MB, a tenth of what hostile answers cost anyway


def packed_proof(document: bytes, attestations: Base) -> bytes:
    """Return a proof as it is stored: of a large one what differs from its group's attestations.

    Args:
        document: its canonical bytes.
        attestations: `attestations_of` the round's group.
    """
    return compressed(document) if len(document) <= _LARGE else stored_after(document, attestations, _LEVEL)


def attestations_of(round_id: int, documents: Iterable[bytes]) -> Base:
    """Return what a large proof is stored beside, from canonical bytes of a group's attestations or plans in any order.

    Their texts stand in it as spelled, and as keys have them: escaped (D-2), and in lower case (D-16).
    """
    spelled = b"".join(sorted(documents))
    return Base(round_id, spelled + spelled.replace(b"%", b"%25").replace(b"|", b"%7C") + spelled.lower())


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

    round_id: int
    note: ProofNote
    digest: str
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
