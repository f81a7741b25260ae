"""Packing of bundles, names in archives, and the reader of trace bundles: gzip tars of strangers, within bounds.

Skills are read by `strict_archives` alone.
"""

import io
import re
import tarfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from sssa.protocol import limits
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import nfc, printable

_GZIP = 31  # zlib window bits: gzip wrapper required
_TAR_OVERHEAD = 2_048  # per entry: header, padding, long-name records
_TAR_SLACK = 64 * 1024
_PIECE = 64 * 1024
_DIGITS = re.compile(rb"[0-9]+")
_MOST_DIGITS = 255  # no file system takes a longer name
# Categories Cc, Cf, Cs, Zl and Zp, written out: Pythons of other versions of Unicode disagree on Cf.
_CONTROL = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u2028-\\u202e"
    "\\u2060-\\u2064\\u2066-\\u206f\\ud800-\\udfff\\ufeff\\ufff9-\\ufffb\\U000110bd\\U000110cd\\U00013430-\\U0001343f"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0001\\U000e0020-\\U000e007f]"
)
_DRIVE = re.compile("[A-Za-z]:")  # bsdtar takes it off, on every system


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
    raw = pack_tar(files)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    if anew is None:
        return squeeze.compress(raw) + squeeze.flush()
    name, place = anew
    end = sum(map(len, tar_pieces({each: files[each] for each in files if each <= name})))
    place += end - len(files[name]) - -len(files[name]) % tarfile.BLOCKSIZE
    pieces = (raw[:place], raw[place:end], raw[end:])
    modes = (zlib.Z_FULL_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_FINISH)
    return b"".join(squeeze.compress(piece) + squeeze.flush(mode) for piece, mode in zip(pieces, modes, strict=True))


def pack_tar(files: Mapping[str, bytes]) -> bytes:
    """Return the canonical tar of `files` (SPEC 13, D-46)."""
    raw = b"".join(tar_pieces(files))
    return raw + tar_end(len(raw))


def tar_pieces(files: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the parts of the canonical tar of `files`: names sorted, all times 0, everything root's with mode 0644."""
    for name in sorted(files):
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(files[name]), 0o644
        yield info.tobuf(tarfile.PAX_FORMAT, "utf-8")
        yield files[name]
        yield bytes(-info.size % tarfile.BLOCKSIZE)


def tar_end(size: int) -> bytes:
    """Return the zero bytes behind `size` bytes of a canonical tar's entries."""
    return bytes(2 * tarfile.BLOCKSIZE + -(size + 2 * tarfile.BLOCKSIZE) % tarfile.RECORDSIZE)


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
            name = plain_name(member.name)
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
    check_names(seen, folders)


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
        data = super().read(size)
        # Before 3.11.10 and 3.12.6 tarfile looks at every run of digits in quadratic time.
        if size > tarfile.BLOCKSIZE and any(len(run) > _MOST_DIGITS for run in _DIGITS.findall(data)):
            raise ArchiveError(f"a run of more than {_MOST_DIGITS} digits in a header")
        return data

    def content(self, member: tarfile.TarInfo) -> bytes:
        """Return a file's bytes (ArchiveError: the tar ends before them)."""
        data = bytes(self.getbuffer()[member.offset_data : member.offset_data + member.size])
        if len(data) < member.size:
            raise ArchiveError("damaged tar: cut short")
        return data


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


def _above_others(names: Collection[str]) -> set[str]:
    """Return those of the files' names that are the folder of another."""
    # With the smallest character between segments, what is below a name follows it directly.
    ordered = sorted(name.replace("/", "\0") for name in names)
    return {upper.replace("\0", "/") for upper, lower in pairwise(ordered) if lower.startswith(upper + "\0")}


def _segments(name: str) -> list[str]:
    return [segment for segment in name.split("/") if segment not in ("", ".")]


def plain_name(name: str) -> str:
    """Return the name without `.` segments (ArchiveError: it leads outside, or shows differently from what it is)."""
    segments = _segments(name)
    bad = (
        name.startswith("/")
        or not segments
        or ".." in segments
        or "\\" in name
        or _DRIVE.match(name)
        or _CONTROL.search(name)
        or nfc(name) != name
    )
    if bad:
        raise ArchiveError(f"`{printable(name)}` is not a plain relative NFC name")
    return "/".join(segments)


def check_names(files: Collection[str], folders: Collection[str] = ()) -> None:
    """Raise ArchiveError where two names are one on some file system: they differ in case alone, or one is a folder."""
    names: dict[str, str] = {}
    for name in files:
        if (other := names.setdefault(_folded(name), name)) != name:
            raise ArchiveError(f"`{printable(other)}` and `{printable(name)}` differ in case alone: rename one")
    if both := (names.keys() & set(map(_folded, folders))) | _above_others(names.keys()):
        raise ArchiveError(f"`{printable(names[min(both)])}` is both a file and a folder")


def _folded(name: str) -> str:
    """Return the name without the case of its letters, which Unicode 14 and later fold alike."""
    return nfc(name.casefold())
