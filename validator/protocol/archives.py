"""Unpacking and packing gzip-compressed tars without trusting them."""

import io
import tarfile
import unicodedata
import zlib
from collections.abc import Iterator, Mapping

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable

_GZIP = 31  # zlib window bits: gzip wrapper required
_TAR_OVERHEAD = 2_048  # per entry: header, padding, long-name records
_TAR_SLACK = 64 * 1024


class ArchiveError(ValidatorError):
    """The archive is refused."""


class ArchiveTooLargeError(ArchiveError):
    """The archive is over a bound."""


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a gzip tar of `files`: names sorted, all times 0, so that equal content gives equal bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(files[name]))
    squeeze = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    return squeeze.compress(raw.getvalue()) + squeeze.flush()


def unpack(data: bytes, *, expanded: int, file_size: int, entries: int) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the regular files in the gzip tar `data`, in archive order.

    Args:
        data: the compressed bytes.
        expanded: most bytes of all files together.
        file_size: most bytes of one file.
        entries: most entries, folders included.

    Raises:
        ArchiveTooLargeError: over a bound.
        ArchiveError: damaged, or holding anything but files and folders with plain relative names.
    """
    raw = _inflate(data, expanded + entries * _TAR_OVERHEAD + _TAR_SLACK)
    seen: set[str] = set()
    folders: set[str] = set()
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for count, member in enumerate(tar, start=1):
                if count > entries:
                    raise ArchiveTooLargeError(f"more than {entries} entries")
                if member.isdir() and not _segments(member.name):
                    continue
                name = _safe_name(member.name)
                if member.isdir():
                    folders.add(name)
                    continue
                if not member.isreg() or member.sparse is not None:
                    raise ArchiveError(f"`{printable(name)}` is neither a regular file nor a folder")
                total += member.size
                if member.size > file_size or total > expanded:
                    raise ArchiveTooLargeError(f"`{printable(name)}` takes the files over their size limit")
                if name in seen:
                    raise ArchiveError(f"`{printable(name)}` stands in it twice")
                seen.add(name)
                folders.update(_parents(name))
                stream = tar.extractfile(member)
                yield name, stream.read() if stream else b""
    except (tarfile.TarError, ValueError, OverflowError, EOFError, OSError, RecursionError) as error:
        raise ArchiveError(f"damaged tar: {printable(str(error))}") from None
    if both := seen & folders:
        raise ArchiveError(f"`{printable(min(both))}` is both a file and a folder")


def _inflate(data: bytes, bound: int) -> bytes:
    """Return what the gzip members of `data` hold together; zero bytes may pad its end (RFC 1952)."""
    raw = bytearray()
    rest = data
    while rest or not raw:
        stream = zlib.decompressobj(_GZIP)
        try:
            raw += stream.decompress(rest, bound + 1 - len(raw))
        except zlib.error as error:
            raise ArchiveError(f"damaged gzip: {error}") from None
        if len(raw) > bound:
            raise ArchiveTooLargeError("expands beyond its size limit")
        if not stream.eof:
            raise ArchiveError("damaged gzip: cut short")
        rest = stream.unused_data.lstrip(b"\0")
        if not raw and not rest:
            break
    return bytes(raw)


def _segments(name: str) -> list[str]:
    return [segment for segment in name.split("/") if segment not in ("", ".")]


def _parents(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _safe_name(name: str) -> str:
    """Return the name without `.` segments; refuse what could lead outside or show differently from what it is."""
    segments = _segments(name)
    bad = (
        name.startswith("/")
        or not segments
        or ".." in segments
        or "\\" in name
        or any(unicodedata.category(c) in ("Cc", "Cs") for c in name)
        or unicodedata.normalize("NFC", name) != name
    )
    if bad:
        raise ArchiveError(f"`{printable(name)}` is not a plain relative NFC name")
    return "/".join(segments)
