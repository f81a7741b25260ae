"""Reading an sdist, an npm package or another tar, which may be anything: bounded, and nothing is written to disk."""

import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from validator.protocol import limits
from validator.protocol.archives import ArchiveError, BoundedTar
from validator.protocol.text import printable
from validator.tasks.folder import label, read_bounded
from validator.tasks.source import TaskError

MAX_SDIST: Final = 64 * limits.MIB  # compressed
MAX_SDIST_EXPANDED: Final = 256 * limits.MIB  # as a tar
MAX_MEMBERS: Final = 65_536  # each costs some 20 µs, whatever is in it
_SLACK = 64 * 1024  # a tar is padded, however little is in it
_GZIP = 31  # zlib window bits: gzip wrapper required


def read_sdist(path: Path, leave_out: Callable[[str, str], None]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the regular files, the folder that holds them all left off.

    Args:
        path: the archive: a tar as it is (`.tar`), or in gzip.
        leave_out: told (name, reason) of what is no regular file or larger than a bundle's file may be.

    Raises:
        TaskError: damaged, or larger than the limits.
    """
    raw = BoundedTar(MAX_SDIST_EXPANDED)
    raw.write(_tar_of(path))
    raw.seek(0)
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=raw, mode="r:") as tar:
            for count, member in enumerate(tar):
                if count >= MAX_MEMBERS or len(tar.pax_headers) > limits.MAX_TAR_GLOBALS:
                    raise TaskError(f"`{label(path)}` has more than {MAX_MEMBERS} entries, or words for all of them")
                if member.isdir():
                    continue
                if not member.isreg() or member.sparse is not None or member.size < 0:
                    leave_out(member.name, "no regular file")
                elif member.size > limits.MAX_BUNDLE_FILE:
                    leave_out(member.name, f"{member.size} bytes, at most {limits.MAX_BUNDLE_FILE}")
                elif member.name in files:
                    leave_out(member.name, "stands in it twice")
                else:
                    files[member.name] = bytes(raw.getbuffer()[member.offset_data : member.offset_data + member.size])
    except (ArchiveError, tarfile.TarError, ValueError, OverflowError, EOFError, OSError, RecursionError) as error:
        raise TaskError(f"`{label(path)}` is no tar that can be read: {printable(str(error))}") from None
    top = common_folder(files)
    for name, content in files.items():
        yield name[len(top) :], content


def _tar_of(path: Path) -> bytes:
    if path.name.endswith(".tar"):
        return read_bounded(path, MAX_SDIST_EXPANDED)
    return _inflate(read_bounded(path, MAX_SDIST), label(path))


def _inflate(data: bytes, name: str) -> bytes:
    bound = min(MAX_SDIST_EXPANDED, len(data) * limits.MAX_BUNDLE_RATIO + _SLACK)
    stream = zlib.decompressobj(_GZIP)
    try:
        raw = stream.decompress(data, bound + 1)
    except zlib.error as error:
        raise TaskError(f"`{name}` is no gzip that can be read: {error}") from None
    if len(raw) > bound:
        raise TaskError(f"`{name}` would expand to more than {bound} bytes")
    if not stream.eof or stream.unused_data:
        raise TaskError(f"`{name}` is cut short, or has bytes after its end")
    return raw


def common_folder(names: Iterable[str]) -> str:
    """Return `folder/` if every name stands below that one folder, else an empty text."""
    tops = {name.split("/", 1)[0] if "/" in name else "" for name in names}
    top = tops.pop() if len(tops) == 1 else ""
    return f"{top}/" if top not in ("", ".", "..") else ""
