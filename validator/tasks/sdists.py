"""Reading an sdist (a gzip tar) that may be anything: bounded, links left out, nothing written to disk."""

import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from validator.protocol import limits
from validator.protocol.text import printable
from validator.tasks.folder import label, read_bounded
from validator.tasks.source import TaskError

MAX_SDIST: Final = 64 * limits.MIB  # compressed
MAX_SDIST_EXPANDED: Final = 256 * limits.MIB  # as a tar
_SLACK = 64 * 1024  # a tar is padded, however little is in it
_GZIP = 31  # zlib window bits: gzip wrapper required


def read_sdist(path: Path, leave_out: Callable[[str, str], None]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the regular files, the folder that holds them all left off.

    Args:
        path: the archive.
        leave_out: told (name, reason) of what is no regular file or larger than a bundle's file may be.

    Raises:
        TaskError: damaged, or larger than the limits.
    """
    raw = _inflate(read_bounded(path, MAX_SDIST), label(path))
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
            for member in tar:
                if member.isdir():
                    continue
                if not member.isreg() or member.sparse is not None:
                    leave_out(member.name, "no regular file")
                elif member.size > limits.MAX_BUNDLE_FILE:
                    leave_out(member.name, f"{member.size} bytes, at most {limits.MAX_BUNDLE_FILE}")
                elif member.name in files:
                    leave_out(member.name, "stands in it twice")
                else:
                    stream = tar.extractfile(member)
                    files[member.name] = stream.read() if stream else b""
    except (tarfile.TarError, ValueError, OverflowError, EOFError, OSError, RecursionError) as error:
        raise TaskError(f"`{label(path)}` is no tar that can be read: {printable(str(error))}") from None
    top = _common_folder(files)
    for name, content in files.items():
        yield name[len(top) :], content


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


def _common_folder(names: dict[str, bytes]) -> str:
    """Return `folder/` if every name stands below that one folder, else an empty text."""
    tops = {name.split("/", 1)[0] if "/" in name else "" for name in names}
    top = tops.pop() if len(tops) == 1 else ""
    return f"{top}/" if top not in ("", ".", "..") else ""
