"""The form of an archive file: the frames of records as the store has them, then a signed manifest with their digests.

MAGIC | frame | frame | … | manifest (one JSON document) | its length, 8 bytes | MAGIC
"""

from typing import Final, Literal

import msgspec

from validator.protocol import typed
from validator.protocol.canonical import canonical_bytes
from validator.protocol.sssa import Document, Signature
from validator.store.errors import ArchiveError

MAGIC: Final = b"SSSA archive 1\n\0"
TAIL: Final = 8 + len(MAGIC)
MAX_MANIFEST: Final = 64 * 1024 * 1024


class Frame(Document, frozen=True):
    """A frame of a record: its bytes, and their sha256."""

    bytes: int
    sha256: str


class Manifest(Document, frozen=True):
    """What a file holds, signed by the validator.

    Attributes:
        netuid: of the rounds; None where none of them was frozen.
        records: the frames of each round, from the first to the last.
    """

    archive_version: Literal["1"]
    validator_hotkey: str
    netuid: int | None
    first_round: int
    last_round: int
    records: tuple[tuple[Frame, ...], ...]
    signature: Signature


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as it lies in the file."""
    return canonical_bytes(manifest)


def read_manifest(data: bytes) -> Manifest:
    """Return a manifest.

    Raises:
        ArchiveError: it has another version's form, or contradicts itself.
    """
    try:
        manifest = typed.decode(data, Manifest)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"its manifest cannot be read: {error}") from None
    if not manifest.records or len(manifest.records) != manifest.last_round - manifest.first_round + 1:
        raise ArchiveError("its records are not those of its rounds")
    if any(frame.bytes < 0 for record in manifest.records for frame in record):
        raise ArchiveError("a frame of it has fewer than no bytes")
    return manifest
