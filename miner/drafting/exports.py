"""The files of an advisory export: of a folder, a zip or one JSON file, each within a bound."""

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from miner.drafting.osv import MAX_ADVISORY
from validator.protocol import limits
from validator.protocol.text import printable
from validator.tasks.folder import folders, label, read_bounded
from validator.tasks.source import TaskError

MAX_ZIP: Final = 1024 * limits.MIB  # bytes on disk; it is never read whole
MAX_DIRECTORY: Final = 32 * limits.MIB  # of a zip, which is: some 400,000 files
MAX_TOTAL: Final = 4096 * limits.MIB  # bytes that are read of all exports
_PLAIN: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others inflate without a bound


def documents_in(paths: Sequence[Path]) -> Iterator[bytes | None]:
    """Yield the JSON files of the exports; None for one that cannot be read, is larger than an advisory or a link.

    Raises:
        TaskError: there is no such export, or it is larger than one that would be read.
    """
    left = MAX_TOTAL
    for path in paths:
        for document in _documents(path):
            left -= len(document or b"")
            if left < 0:
                raise TaskError(f"`{label(path)}`: more than {MAX_TOTAL} bytes of advisories")
            yield document


def _documents(path: Path) -> Iterator[bytes | None]:
    if path.is_dir():
        for folder, _, names in folders(path):
            for name in sorted(names):
                if name.endswith((".json", ".zip")):
                    yield from _file(Path(folder, name), follow=False)
    elif path.name.endswith((".json", ".zip")):
        if not path.exists():
            raise TaskError(f"`{label(path)}` is not there - at `--advisories`")
        yield from _file(path, follow=True)
    else:
        raise TaskError(f"`{label(path)}` is no folder, no zip and no JSON file of advisories - at `--advisories`")


def _file(path: Path, *, follow: bool) -> Iterator[bytes | None]:
    if path.name.endswith(".json"):
        try:
            yield read_bounded(path, MAX_ADVISORY, follow=follow)
        except TaskError:
            yield None
    elif follow or not path.is_symlink():
        yield from _members(path)


class _Bounded(io.FileIO):
    """A zip whose directory is read in one piece, and only if it is not too large."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read at most `size` bytes.

        Raises:
            TaskError: more than anybody's directory.
        """
        if size is not None and size > MAX_DIRECTORY:
            raise TaskError(f"a zip names more than {MAX_DIRECTORY} bytes of files")
        return super().read(size) or b""


def _members(path: Path) -> Iterator[bytes | None]:
    try:
        if path.stat().st_size > MAX_ZIP:
            raise TaskError(f"`{label(path)}` is larger than {MAX_ZIP} bytes")
        with _Bounded(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_TOTAL:
                raise TaskError(f"`{label(path)}` would expand to more than {MAX_TOTAL} bytes")
            yield from (_member(archive, member) for member in members if member.filename.endswith(".json"))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise TaskError(f"`{label(path)}` is no zip that can be read: {printable(str(error))}") from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | None:
    if member.flag_bits & 0x1 or member.compress_type not in _PLAIN:
        return None
    try:
        with archive.open(member) as stream:
            content = stream.read(MAX_ADVISORY + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError):
        return None
    return content if len(content) <= MAX_ADVISORY else None
