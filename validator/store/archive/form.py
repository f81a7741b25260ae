"""The form of an archive file: sections of rows, then a signed manifest that has the digest of each.

    MAGIC | section | section | … | manifest (one JSON document) | its length, 8 bytes | MAGIC

A section holds the rows that a table has of a few rounds, a column after the other, as MessagePack in a Zstandard
frame. A block is one section of each table: what is read together. Values are what the columns hold, whatever made
them, with one exception: documents are unpacked, so that a frame has once what they have in common.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec
import zstandard
from msgspec.msgpack import Ext

from validator.protocol import typed
from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.sssa import Document, Signature
from validator.store.codec import expanded, stands_alone, uncompressed
from validator.store.errors import ArchiveError, DamagedError
from validator.store.memory import as_sqlite

MAGIC: Final = b"SSSA archive 1\n\0"
TAIL: Final = 8 + len(MAGIC)
MAX_MANIFEST: Final = 64 * 1024 * 1024
MAX_SECTION: Final = 256 * 1024 * 1024  # bytes of it unpacked; a line of a log has 128 MiB at most
_LEVEL: Final = 12  # the next ones gain a thirtieth and take twice as long
_WINDOW: Final = 25  # log2 bytes: a block's proofs repeat what its inputs say
_UNPACKED: Final = 1  # a document: MessagePack's extension type

Values = Sequence[Any]
Row = tuple[Any, ...]


class Section(Document, frozen=True):
    """A table's rows of a block.

    Attributes:
        rows: how many.
        bytes, sha256: of the section as it lies in the file.
        unpacked_bytes: of what comes out of it.
    """

    rows: int
    bytes: int
    unpacked_bytes: int
    sha256: str


class Block(Document, frozen=True):
    """Consecutive rounds that are read together.

    Attributes:
        first_round, last_round: which.
        hotkeys: who has scores in them, sorted.
        sections: by table, in the order of the manifest's columns.
    """

    first_round: int
    last_round: int
    hotkeys: tuple[str, ...]
    sections: tuple[Section, ...]


class Columns(Document, frozen=True):
    """The columns of a table that a file holds, its primary key among them."""

    table: str
    names: tuple[str, ...]


class Manifest(Document, frozen=True):
    """What a file holds, signed by the validator.

    Attributes:
        revision: of the tables that the rows are of.
        netuid: of the rounds; None where none of them was frozen.
    """

    archive_version: Literal["1"]
    validator_hotkey: str
    netuid: int | None
    first_round: int
    last_round: int
    revision: str
    tables: tuple[Columns, ...]
    blocks: tuple[Block, ...]
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
    following = manifest.first_round
    for block in manifest.blocks:
        if block.first_round != following or block.last_round < following:
            raise ArchiveError("its blocks do not follow each other")
        if len(block.sections) != len(manifest.tables) or any(
            min(one.rows, one.bytes, one.unpacked_bytes) < 0 or one.unpacked_bytes > MAX_SECTION
            for one in block.sections
        ):
            raise ArchiveError("its sections are not those of its tables")
        following = block.last_round + 1
    if following != manifest.last_round + 1 or not manifest.blocks:
        raise ArchiveError("its blocks are not its rounds")
    return manifest


def packed_section(columns: Sequence[Values]) -> tuple[bytes, Section]:
    """Return rows as a section, and what the manifest says of it.

    Args:
        columns: the values of each column, all of one length.

    Raises:
        ArchiveError: larger than a section may be.
    """
    plain = _ENCODER.encode(columns)
    if len(plain) > MAX_SECTION:
        raise ArchiveError(f"a block's rows of one table have {len(plain)} bytes, at most {MAX_SECTION} are taken")
    data = zstandard.ZstdCompressor(compression_params=_PARAMETERS).compress(plain)
    return data, Section(len(columns[0]) if columns else 0, len(data), len(plain), sha256_hex(data))


def unpacked_section(data: bytes, section: Section, columns: int) -> list[list[Any]]:
    """Return the values of each column.

    Raises:
        ArchiveError: the bytes are not what the manifest names, or more comes out of them than it says.
    """
    if len(data) != section.bytes or sha256_hex(data) != section.sha256:
        raise ArchiveError("is damaged: a section does not have the digest that was signed")
    try:
        whole = zstandard.get_frame_parameters(data).content_size == section.unpacked_bytes
        expander = zstandard.ZstdDecompressor()
        found = _DECODER.decode(expander.decompress(data, allow_extra_data=False)) if whole else []
    except (zstandard.ZstdError, MemoryError, msgspec.MsgspecError) as error:
        raise ArchiveError(f"has a section that cannot be read: {error}") from None
    if len(found) != columns or any(len(values) != section.rows for values in found):
        raise ArchiveError("has a section that is not what its manifest says")
    return found


def as_archived(value: Any) -> Any:
    """Return a column's value as a file holds it."""
    if isinstance(value, bytes | memoryview):
        blob = bytes(value)
        if not stands_alone(blob):
            return blob
        try:
            return Ext(_UNPACKED, expanded(blob))
        except DamagedError:
            return blob  # as it is: to find that is for others
    return str(value) if isinstance(value, str) else value  # an enum's member as its plain value


def as_stored(value: Any) -> Any:
    """Return a file's value as a column of SQLite holds it; documents are not made small again."""
    match value:
        case Ext():
            return uncompressed(bytes(value.data))
        case bool():
            return int(value)
        case _:
            return as_sqlite(value)


def _extension(code: int, data: memoryview) -> Ext:
    return Ext(code, bytes(data))


_PARAMETERS: Final = zstandard.ZstdCompressionParameters.from_level(
    _LEVEL, window_log=_WINDOW, enable_ldm=True, write_checksum=True
)
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(list[list[Any]], ext_hook=_extension)
