"""Gzip-compressed tars of strangers, unpacked within bounds, and packing. Bundles and traces travel in them."""

import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise

from validator.protocol import limits
from validator.protocol.errors import ValidatorError
from validator.protocol.text import nfc, printable

_GZIP = 31  # zlib window bits: gzip wrapper required
_TAR_OVERHEAD = 2_048  # per entry: header, padding, long-name records
_TAR_SLACK = 64 * 1024
_PIECE = 64 * 1024
_DIGITS = re.compile(rb"[0-9]+")
_MOST_DIGITS = 255  # no file system takes a longer name
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")  # categories Cc and Cs


class ArchiveError(ValidatorError):
    """The archive is refused."""


class ArchiveTooLargeError(ArchiveError):
    """The archive is over a bound."""


def pack(files: Mapping[str, bytes], anew: tuple[str, int] | None = None) -> bytes:
    """Return a gzip tar of `files`: names sorted, all times 0, so that equal content gives equal bytes.

    Args:
        files: contents by name.
        anew: a file's name and a place in it: compression begins anew there, and again behind the file. Bundles that
            differ in nothing but what is in between have the same bytes around it, checksum excepted.
    """
    raw, begins = _tar_of(files)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    if anew is None:
        return squeeze.compress(raw) + squeeze.flush()
    name, place = anew
    end = begins[name] + len(files[name])
    end += -end % tarfile.BLOCKSIZE
    pieces = (raw[: begins[name] + place], raw[begins[name] + place : end], raw[end:])
    modes = (zlib.Z_FULL_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_FINISH)
    return b"".join(squeeze.compress(piece) + squeeze.flush(mode) for piece, mode in zip(pieces, modes, strict=True))


def pack_tar(files: Mapping[str, bytes]) -> bytes:
    """Return a tar of `files`: names sorted, all times 0, everything root's with mode 0644."""
    return _tar_of(files)[0]


def _tar_of(files: Mapping[str, bytes]) -> tuple[bytes, dict[str, int]]:
    """Return the tar, and at which byte each file's content begins."""
    raw = io.BytesIO()
    begins = {}
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(files[name]))
            begins[name] = raw.tell() - info.size - -info.size % tarfile.BLOCKSIZE
    return raw.getvalue(), begins


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
    raw = BoundedTar(entries * _TAR_OVERHEAD + _TAR_SLACK)
    _inflate(data, raw, tar_bound(expanded, entries))
    yield from _files(raw, expanded, file_size, entries)


def unpack_tar(data: bytes, *, expanded: int, file_size: int, entries: int) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the tar `data`, which is not compressed, as `unpack` does."""
    raw = BoundedTar(entries * _TAR_OVERHEAD + _TAR_SLACK)
    raw.write(data)
    raw.seek(0)
    yield from _files(raw, expanded, file_size, entries)


def tar_bound(expanded: int, entries: int) -> int:
    """Return how many bytes a tar of files within these limits has at most."""
    return expanded + entries * _TAR_OVERHEAD + _TAR_SLACK


def _files(raw: "BoundedTar", expanded: int, file_size: int, entries: int) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    folders: set[str] = set()
    total = 0
    try:
        for member in _members(raw, entries):
            if member.isdir() and not _segments(member.name):
                continue
            name = _safe_name(member.name)
            if member.isdir():
                folders.add(name)
                continue
            if not member.isreg() or member.sparse is not None:
                raise ArchiveError(f"`{printable(name)}` is neither a regular file nor a folder")
            if member.size < 0:
                raise ArchiveError(f"`{printable(name)}` has a negative size")
            total += member.size
            if member.size > file_size or total > expanded:
                raise ArchiveTooLargeError(f"`{printable(name)}` takes the files over their size limit")
            if name in seen:
                raise ArchiveError(f"`{printable(name)}` is in it twice")
            seen.add(name)
            yield name, raw.content(member)
    except (tarfile.TarError, ValueError, OverflowError, EOFError, OSError, RecursionError) as error:
        raise ArchiveError(f"damaged tar: {printable(str(error))}") from None
    if both := (seen & folders) | _above_others(seen):
        raise ArchiveError(f"`{printable(min(both))}` is both a file and a folder")


class BoundedTar(io.BytesIO):
    """A tar in memory whose headers are read only so far: what is between files is dear for its size.

    Args:
        budget: most bytes of headers and their extensions.
    """

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._budget = budget

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes for the parser of headers, which gets no more than the budget."""
        size = -1 if size is None else size
        self._budget -= size
        if not 0 <= size <= limits.MAX_TAR_RECORD or self._budget < 0:
            raise ArchiveTooLargeError("its headers are larger than those of plain files and folders")
        found = super().read(size)
        # Before 3.11.10 and 3.12.6 tarfile looks at every run of digits in quadratic time.
        if size > tarfile.BLOCKSIZE and any(len(run) > _MOST_DIGITS for run in _DIGITS.findall(found)):
            raise ArchiveError(f"a run of more than {_MOST_DIGITS} digits in a header")
        return found

    def content(self, member: tarfile.TarInfo) -> bytes:
        """Return a file's bytes (ArchiveError: the tar ends before them)."""
        found = bytes(self.getbuffer()[member.offset_data : member.offset_data + member.size])
        if len(found) < member.size:
            raise ArchiveError("damaged tar: cut short")
        return found


def _members(raw: BoundedTar, entries: int) -> Iterator[tarfile.TarInfo]:
    with tarfile.open(fileobj=raw, mode="r:") as tar:
        for count, member in enumerate(tar, start=1):
            if count > entries:
                raise ArchiveTooLargeError(f"more than {entries} entries")
            if len(tar.pax_headers) > limits.MAX_TAR_GLOBALS:
                raise ArchiveTooLargeError(f"more than {limits.MAX_TAR_GLOBALS} keywords for all entries")
            yield member


def _inflate(data: bytes, raw: io.BytesIO, bound: int) -> None:
    """Write to `raw` what the gzip members of `data` hold together; zero bytes may pad its end (RFC 1952)."""
    start = 0
    for _ in range(limits.MAX_GZIP_MEMBERS):
        start = _inflate_member(data, start, raw, bound)
        start = _after_zeros(data, start)
        if start >= len(data):
            break
    else:
        raise ArchiveTooLargeError(f"more than {limits.MAX_GZIP_MEMBERS} gzip members")
    raw.seek(0)


def _inflate_member(data: bytes, start: int, raw: io.BytesIO, bound: int) -> int:
    """Return where the member that begins at `start` ends; its content is written to `raw`."""
    stream = zlib.decompressobj(_GZIP)
    while not stream.eof:
        piece = data[start : start + _PIECE]  # in pieces, because each member's rest is copied once
        if not piece:
            raise ArchiveError("damaged gzip: cut short")
        try:
            raw.write(stream.decompress(piece, bound + 1 - raw.tell()))
        except zlib.error as error:
            raise ArchiveError(f"damaged gzip: {error}") from None
        if raw.tell() > bound:
            raise ArchiveTooLargeError("expands beyond its size limit")
        start += len(piece) - len(stream.unused_data)
    return start


def _after_zeros(data: bytes, start: int) -> int:
    while piece := data[start : start + _PIECE]:
        rest = len(piece.lstrip(b"\0"))
        start += len(piece) - rest
        if rest:
            break
    return start


def _above_others(names: set[str]) -> set[str]:
    """Return those of the files' names that are the folder of another."""
    # With the smallest character between segments, what is below a name follows it directly.
    ordered = sorted(name.replace("/", "\0") for name in names)
    return {upper.replace("\0", "/") for upper, lower in pairwise(ordered) if lower.startswith(upper + "\0")}


def _segments(name: str) -> list[str]:
    return [segment for segment in name.split("/") if segment not in ("", ".")]


def _safe_name(name: str) -> str:
    """Return the name without `.` segments; refuse what could lead outside or show differently from what it is."""
    segments = _segments(name)
    bad = (
        name.startswith("/")
        or not segments
        or ".." in segments
        or "\\" in name
        or _CONTROL.search(name)
        or nfc(name) != name
    )
    if bad:
        raise ArchiveError(f"`{printable(name)}` is not a plain relative NFC name")
    return "/".join(segments)
