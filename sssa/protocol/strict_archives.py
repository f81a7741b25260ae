"""Strict reader of tars and zips: it accounts for every byte of an archive, or refuses it (SPEC 13, D-46).

Two readers of a lenient form can extract different files, and then nobody can tell what was judged. Every common tool
extracts the same files from what this reader accepts: docs/archives.md.
"""

import re
import stat
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from sssa.protocol import limits
from sssa.protocol.archives import ArchiveError, ArchiveTooLargeError, check_names, plain_name
from sssa.protocol.text import printable

_GZIP: Final = 31  # zlib window bits: gzip wrapper required
_DEFLATE: Final = -15  # zlib window bits: no wrapper
_BLOCK: Final = 512
EXTRACT: Final = "extract it as you would install it, inspect the result, and name the folder"
"""Advice about an archive of another form."""
_SLACK: Final = 64 * 1024  # padding of a small tar

_MAGIC: Final = b"ustar\x0000"
_SIZE, _CHECKSUM = slice(124, 136), slice(148, 156)
_NUMBERS: Final = (
    *(slice(100, 108), slice(108, 116), slice(116, 124), _SIZE),  # mode, owner, group
    *(slice(136, 148), _CHECKSUM, slice(329, 337), slice(337, 345)),  # time, device numbers
)
_NUMBER: Final = re.compile(rb"[0-7]*[ \0]+")
_NAME, _LINK, _PREFIX, _REST = slice(100), slice(157, 257), slice(345, 500), slice(500, _BLOCK)
_PAX_PATH: Final = re.compile(rb"([1-9][0-9]{0,5}) path=([^\0\n]+)\n")

_END: Final = struct.Struct("<4s4H2LH")
_ENTRY: Final = struct.Struct("<4sBB5H3L5H2L")
_LOCAL: Final = 30
_ZIP64_LOCATOR: Final = 20  # bytes in front of the end record; some readers look for it whatever the record says
_UTF8: Final = 0x800
_FLAGS: Final = _UTF8 | 0x6  # of deflate: how hard it tried
_FOLDER: Final = 0x10  # of MS-DOS
_DOS, _UNIX = 0, 3
_STORED, _DEFLATED = 0, 8
_EXTRA: Final = frozenset({0x5455, 0x7875})  # times, and owner and group
_VERSION: Final = re.compile(r";[0-9]*\Z")  # unzip takes it for a version's number, and leaves it out


@dataclass(slots=True)
class _Members:
    """Members of an archive so far, within bounds."""

    expanded: int
    entries: int
    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def admit(self, name: str, size: int) -> str:
        """Return the name of a further member of `size` bytes as it is on disk."""
        self.entries, self.expanded = self.entries - 1, self.expanded - size
        if self.entries < 0:
            raise ArchiveTooLargeError("has too many entries")
        if self.expanded < 0:
            raise ArchiveTooLargeError(f"`{printable(name)}` takes the files over their size limit")
        return plain_name(name)

    def add_folder(self, name: str) -> None:
        """Take in a folder; `./`, the top, is none."""
        if name.strip("/") != ".":
            self.folders.add(self.admit(name, 0))

    def add_file(self, name: str, content: bytes) -> None:
        """Take in a file that was admitted under this name."""
        if name in self.files:
            raise ArchiveError(f"`{printable(name)}` is in it twice")
        self.files[name] = content

    def checked(self) -> dict[str, bytes]:
        """Return the files by name, sorted (ArchiveError: two names are one)."""
        check_names(self.files, self.folders)
        return dict(sorted(self.files.items()))


def read_archive(data: bytes, *, expanded: int, entries: int) -> dict[str, bytes]:
    """Return the files of a zip, a gzip tar or a tar by name, sorted.

    Args:
        data: the archive; its first bytes say what it is.
        expanded: most bytes of all files together.
        entries: most entries, folders included.

    Raises:
        ArchiveTooLargeError: over a bound.
        ArchiveError: damaged, or of a form that another reader may read differently.
    """
    if is_zip(data):
        return read_zip(data, expanded=expanded, entries=entries)
    if data.startswith(b"\x1f\x8b"):
        data = gunzip(data, expanded)
    return read_tar(data, expanded=expanded, entries=entries)


def read_package(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive as `read_archive` does, within the bounds of packages."""
    if len(data) > limits.MAX_PACKAGE:
        raise ArchiveTooLargeError(f"larger than {limits.MAX_PACKAGE} bytes")
    expanded = min(limits.MAX_PACKAGE_EXPANDED, len(data) * limits.MAX_BUNDLE_RATIO + _SLACK)
    return read_archive(data, expanded=expanded, entries=limits.MAX_PACKAGE_ENTRIES)


def is_zip(data: bytes) -> bool:
    """Return whether an archive is read as a zip; every other one is a tar."""
    return data.startswith(b"PK")


def common_folder(names: Iterable[str]) -> str:
    """Return `folder/` if every name is below that one folder, else an empty text."""
    tops = {name.split("/", 1)[0] if "/" in name else "" for name in names}
    top = tops.pop() if len(tops) == 1 else ""
    return f"{top}/" if top else ""


def gunzip(data: bytes, bound: int) -> bytes:
    """Return the content of the one gzip member that `data` is, at most `bound` bytes."""
    stream = zlib.decompressobj(_GZIP)
    try:
        raw = stream.decompress(data, bound + 1)
    except zlib.error as error:
        raise ArchiveError(f"damaged gzip: {error}") from None
    if len(raw) > bound:
        raise ArchiveTooLargeError("expands beyond its size limit")
    if not stream.eof or stream.unused_data:
        raise ArchiveError(f"the gzip {'has bytes after its end' if stream.eof else 'is cut short'}")
    return raw


def read_tar(raw: bytes, *, expanded: int, entries: int) -> dict[str, bytes]:
    """Return the files of a tar as `read_archive` does: ustar, or pax with `path` alone."""
    members = _Members(expanded, entries)
    at, path = 0, None
    while (header := raw[at : at + _BLOCK]).strip(b"\0"):
        size = _checked_header(header)
        begin, at = at + _BLOCK, at + _BLOCK + size + -size % _BLOCK
        if at > len(raw) or raw[begin + size : at].strip(b"\0"):
            raise ArchiveError("an entry of the tar is cut short, or not padded with zero bytes")
        kind, prefix, own = header[156:157], _field(header, _PREFIX), _field(header, _NAME)
        if not own or (prefix and (path or kind == b"x")):  # npm's tar passes over the first, and joins the second
            raise ArchiveError("a tar header has no name, or a prefix next to the `path` of a pax header")
        if kind == b"x" and path is None:
            path = _pax_path(raw[begin : begin + min(size, limits.MAX_TAR_RECORD + 1)])
            continue
        name, path = _text(path or (prefix and prefix + b"/") + own), None
        if kind == b"5" and not size:
            members.add_folder(name)
        elif kind == b"0" and not name.endswith("/"):
            members.add_file(members.admit(name, size), raw[begin : begin + size])
        else:
            raise ArchiveError(f"`{printable(name)}` is neither a regular file nor a folder")
    end = raw[at:]
    if path is not None or len(end) < 2 * _BLOCK or len(end) % _BLOCK or end.strip(b"\0"):
        raise ArchiveError("the tar does not end in two zero blocks and nothing but zero bytes after them")
    return members.checked()


def _checked_header(header: bytes) -> int:
    """Return the size in a header of 512 bytes, of which every byte is as it must be."""
    if len(header) < _BLOCK or header[257:265] != _MAGIC:
        raise ArchiveError("not a ustar or pax header (`tar --format=ustar` writes them)")
    if any(_NUMBER.fullmatch(header[one]) is None for one in _NUMBERS):
        raise ArchiveError("a number in a tar header is not octal")
    size, checksum = (header[one].rstrip(b"\0 ") for one in (_SIZE, _CHECKSUM))
    if not size or not checksum or int(checksum, 8) != sum(header) - sum(header[_CHECKSUM]) + 8 * ord(" "):
        raise ArchiveError("a tar header has no size, or a wrong checksum")
    if header[_LINK].strip(b"\0") or header[_REST].strip(b"\0"):
        raise ArchiveError("a tar header names a link, or has bytes after its end")
    return int(size, 8)


def _field(header: bytes, place: slice) -> bytes:
    value = header[place].rstrip(b"\0")
    if b"\0" in value:
        raise ArchiveError("a name in a tar header has bytes after its end")
    return value


def _pax_path(data: bytes) -> bytes:
    match = _PAX_PATH.fullmatch(data)
    if match is None or int(match[1]) != len(data):
        raise ArchiveError("a pax header with more than `path` (`tar --format=ustar` writes none)")
    return match[2]


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ArchiveError(f"`{printable(name.decode(errors='replace'))}` has a name that is not UTF-8") from None


def read_zip(data: bytes, *, expanded: int, entries: int) -> dict[str, bytes]:
    """Return the files of a zip as `read_archive` does: its two lists agree one to one, and tile all of it."""
    members = _Members(expanded, entries)
    end = len(data) - _END.size
    if end < 0 or not data.startswith(b"PK\5\6", end):
        raise ArchiveError("the zip does not end in its end record, or has a comment")
    _, *disks, here, count, size, first, comment = _END.unpack_from(data, end)
    if any((*disks, comment)) or here != count or first + size != end or count == 0xFFFF:  # noqa: PLR2004 - as zip64 has
        raise ArchiveError("the end record of the zip does not fit what is in front of it")
    if data.startswith(b"PK\6\7", end - _ZIP64_LOCATOR):
        raise ArchiveError("the zip is of the form zip64")
    at, local = first, 0
    for _ in range(count):
        at, local = _read_entry(data, at, local, first, members)
    if at != end or local != first:
        raise ArchiveError("the zip has bytes that no entry accounts for")
    return members.checked()


def _read_entry(data: bytes, at: int, local: int, first: int, members: _Members) -> tuple[int, int]:
    """Take in the entry at `at` of the central directory, whose local header is at `local`; return where both end."""
    if at + _ENTRY.size > len(data) or not data.startswith(b"PK\1\2", at) or not data.startswith(b"PK\3\4", local):
        raise ArchiveError("the lists of the zip do not agree in number and order")
    _, _, host, _, flags, method, _, _, crc, packed, size, *rest = _ENTRY.unpack_from(data, at)
    name_size, extra, comment, disk, _, attributes, offset = rest
    name = data[at + _ENTRY.size : at + _ENTRY.size + name_size]
    text = _text(name)
    begin = local + _LOCAL + name_size
    body = begin + int.from_bytes(data[local + 28 : local + _LOCAL], "little")
    same = data[at + 6 : at + 30] == data[local + 4 : local + 28] and data[begin - name_size : begin] == name
    if not same or offset != local or disk or comment or body + packed > first:
        raise ArchiveError(f"the two headers of `{printable(text)}` in the zip do not agree")
    _check_extra(data[begin:body])
    _check_extra(data[at + _ENTRY.size + name_size : at + _ENTRY.size + name_size + extra])
    is_plain = name.isascii() or (flags & _UTF8 and host == _UNIX)  # unzip reads others' names in an old code page
    if flags & ~_FLAGS or host not in {_DOS, _UNIX} or not is_plain:
        raise ArchiveError(f"`{printable(text)}` in the zip is encrypted, has its size behind it, or an old name")
    is_folder = text.endswith("/")
    kinds = {0, stat.S_IFDIR if is_folder else stat.S_IFREG}
    unlike = size if is_folder else attributes & _FOLDER
    if stat.S_IFMT(attributes >> 16) not in kinds or unlike or _VERSION.search(text):
        raise ArchiveError(f"`{printable(text)}` is neither a regular file nor a folder")
    if is_folder:
        members.add_folder(text)
    else:
        text = members.admit(text, size)
    content = _inflated(data[body : body + packed], method, size)
    if content is None or zlib.crc32(content) != crc:
        raise ArchiveError(f"`{printable(text)}` in the zip is damaged, or neither stored nor deflated")
    if not is_folder:
        members.add_file(text, content)
    return at + _ENTRY.size + name_size + extra, body + packed


def _check_extra(extra: bytes) -> None:
    at = 0
    while at < len(extra):
        if at + 4 > len(extra) or int.from_bytes(extra[at : at + 2], "little") not in _EXTRA:
            raise ArchiveError("an extra field of the zip may change what its entry is")
        at += 4 + int.from_bytes(extra[at + 2 : at + 4], "little")
    if at != len(extra):
        raise ArchiveError("an extra field of the zip is cut short")


def _inflated(data: bytes, method: int, size: int) -> bytes | None:
    """Return the `size` bytes of an entry, None if there are more or fewer."""
    if method == _STORED:
        return data if len(data) == size else None
    if method != _DEFLATED:
        return None
    stream = zlib.decompressobj(_DEFLATE)
    try:
        content = stream.decompress(data, size + 1)
    except zlib.error:
        return None
    return content if stream.eof and not stream.unused_data and len(content) == size else None
