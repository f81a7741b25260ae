"""Archive files: the frames of records as the store has them, then a signed manifest with their digests.

MAGIC | frame | frame | … | manifest (one JSON document) | its length, 8 bytes | MAGIC

Reads only; `archiving.py` writes. Called by every read of an old round's record.
"""

import os
import stat
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, Literal

import msgspec

from validator.files import why
from validator.protocol import typed
from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.signatures import verify_document
from validator.protocol.sssa import Document, Signature
from validator.protocol.text import printable
from validator.store.errors import ArchivedError, ArchiveError
from validator.store.rows import ArchivedSpan

MAGIC: Final = b"SSSA archive 1\n\0"
TAIL: Final = 8 + len(MAGIC)
MAX_MANIFEST: Final = 64 * 1024 * 1024


class Frame(Document, frozen=True):
    """A frame of a record: its bytes, and their sha256."""

    bytes: int
    sha256: str


class Manifest(Document, frozen=True):
    """The content of a file, signed by the validator.

    `records`: the frames of each round, from the first to the last.
    """

    archive_version: Literal["1"]
    validator_hotkey: str
    netuid: int | None
    first_round: int
    last_round: int
    records: tuple[tuple[Frame, ...], ...]
    signature: Signature


def read_manifest(data: bytes) -> Manifest:
    """Return a manifest (ArchiveError: it has another version's form, or contradicts itself)."""
    try:
        manifest = typed.decode(data, Manifest)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"its manifest cannot be read: {error}") from None
    if not manifest.records or len(manifest.records) != manifest.last_round - manifest.first_round + 1:
        raise ArchiveError("its records are not those of its rounds")
    if any(frame.bytes < 0 for record in manifest.records for frame in record):
        raise ArchiveError("a frame of it has fewer than no bytes")
    return manifest


_AGAIN: Final = "take it from a backup of the folder"


def name_of(first_round: int, last_round: int) -> str:
    """Return what a file with these rounds is called: in a listing, older rounds are first."""
    return f"rounds-{first_round:010d}-{last_round:010d}.archive"


def archives_in(folder: Path, first_round: int | None = None) -> list[Path]:
    """Return what is called like an archive, by name; with `first_round`, like one from that round on."""
    return sorted(folder.glob("rounds-*.archive" if first_round is None else f"rounds-{first_round:010d}-*.archive"))


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file whose manifest was read and is signed by whom it names; its frames are held to it when they are read.

    `sha256` is that of the manifest, `size` that of the file in bytes.
    """

    path: Path
    manifest: Manifest
    sha256: str
    size: int

    def frames(self, round_id: int, part: int = 0, most: int | None = None) -> tuple[bytes, ...]:
        """Return at most `most` frames of a round's record, from `part` on (ArchiveError: damaged, or changed)."""
        place, records = round_id - self.manifest.first_round, self.manifest.records
        some = records[place][part:] if most is None else records[place][part : part + most]
        before = (*chain.from_iterable(records[:place]), *records[place][:part])
        try:
            with self.path.open("rb") as stream:
                stream.seek(len(MAGIC) + sum(frame.bytes for frame in before))
                found = tuple([stream.read(frame.bytes) for frame in some])
        except OSError as error:
            raise refused(self.path, f"cannot be read: {why(error)}") from None
        if any(sha256_hex(data) != frame.sha256 for data, frame in zip(found, some, strict=True)):
            raise refused(self.path, f"is damaged: a frame does not have the digest that was signed; {_AGAIN}")
        return found


def refused(path: Path, what: str) -> ArchiveError:
    """Return the error that names a file and says what is wrong with it."""
    return ArchiveError(f"{printable(str(path))} {what}")


def open_archive(path: Path) -> ArchiveFile:
    """Read a file's manifest and hold its signature (ArchiveError: it is no whole archive file, or was changed)."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno())
            if not stat.S_ISREG(size.st_mode):
                raise refused(path, "is not a plain file")
            data = _manifest_of(path, stream, size.st_size)
    except FileNotFoundError:
        raise refused(path, "is not there; put it back, or name the folder that has it in store.archive") from None
    except OSError as error:
        raise refused(path, f"cannot be read: {why(error)}") from None
    try:
        manifest = read_manifest(data)
    except ArchiveError as error:
        raise refused(path, f"is no archive that this program reads: {error.detail}") from None
    whole = sum(frame.bytes for record in manifest.records for frame in record)
    if len(MAGIC) + whole + len(data) + TAIL != size.st_size:
        raise refused(path, f"is damaged: it has {size.st_size} bytes, not those that its manifest names; {_AGAIN}")
    if data != canonical_bytes(manifest) or not verify_document(manifest, manifest.validator_hotkey):
        raise refused(path, f"was changed: its manifest does not have the signature of whom it names; {_AGAIN}")
    return ArchiveFile(path, manifest, sha256_hex(data), size.st_size)


def open_known(folder: Path, span: ArchivedSpan) -> ArchiveFile:
    """Return the file that the store names (ArchiveError: it is not in the folder, is damaged, or is another one)."""
    found = open_archive(folder / span.file)
    if found.sha256 != span.sha256:
        raise refused(found.path, f"is not the file that the store names: another of that name; {_AGAIN}")
    return found


def _manifest_of(path: Path, stream: BinaryIO, size: int) -> bytes:
    if size < len(MAGIC) + TAIL or stream.read(len(MAGIC)) != MAGIC:
        raise refused(path, "is no archive file: it does not begin as one")
    stream.seek(size - TAIL)
    tail = stream.read(TAIL)
    if tail[8:] != MAGIC:
        raise refused(path, f"is cut short: it does not end as an archive file; {_AGAIN}")
    length = int.from_bytes(tail[:8], "big")
    if length > min(MAX_MANIFEST, size - len(MAGIC) - TAIL):
        raise refused(path, f"is damaged: its manifest would have {length} bytes; {_AGAIN}")
    stream.seek(size - TAIL - length)
    return stream.read(length)


_FILES: Final = 8  # whose manifests are kept


@dataclass(slots=True)
class Shelf:
    """The archive files of one open store, for one event loop; `folder` is None where nobody said which has them."""

    folder: Path | None
    _files: OrderedDict[str, ArchiveFile] = field(init=False, default_factory=OrderedDict)

    def file(self, span: ArchivedSpan, asked: str) -> ArchiveFile:
        """Return an opened file; `asked` is what somebody asks for, for the message.

        Raises:
            ArchivedError: nobody said which folder has it.
            ArchiveError: the file cannot be used.
        """
        if self.folder is None:
            raise ArchivedError(
                f"{asked} is in {span.file}, with rounds {span.first_round} to {span.last_round};"
                " name the folder of this file in store.archive"
            )
        if span.sha256 not in self._files:
            self._files[span.sha256] = open_known(self.folder, span)
            if len(self._files) > _FILES:
                self._files.popitem(last=False)
        return self._files[span.sha256]
