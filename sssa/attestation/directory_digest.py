"""Directory digest of a skill, the subject of its attestations (SPEC 13, D-47), from a folder or an archive.

It is Go's directory hash 1 in hex, in-toto's `dirHash`. Equal files have one digest in every container.
"""

import errno
import os
import stat
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from sssa.files import read_at_most
from sssa.protocol import limits
from sssa.protocol.archives import ArchiveError, ArchiveTooLargeError, check_names, plain_name
from sssa.protocol.errors import ValidatorError
from sssa.protocol.strict_archives import EXTRACT, common_folder, is_zip, read_package
from sssa.protocol.text import printable

_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NoDigestError(ValidatorError):
    """The skill has no digest."""


class Content(NamedTuple):
    """A skill's files.

    Attributes:
        digest: `dirHash` of all of them, lower-case hex.
        files: sha256 by name, sorted by name.
    """

    digest: str
    files: Mapping[str, str]


def content_of(files: Mapping[str, str]) -> Content:
    """Return the content of files, given by name and sha256 (NoDigestError: there are none)."""
    if not files:
        raise NoDigestError("there are no files")
    ordered = dict(sorted(files.items()))
    lines = "".join(f"{digest}  {name}\n" for name, digest in ordered.items())
    return Content(sha256(lines.encode()).hexdigest(), ordered)


def bundle_content(files: Mapping[str, bytes], added: Collection[str] = ()) -> Content:
    """Return the content of a tar's files except those that packing added (NoDigestError: there are no others)."""
    top = len(common_folder(files))
    return content_of({name[top:]: sha256(data).hexdigest() for name, data in files.items() if name not in added})


def read_content(path: Path) -> Content:
    """Return the content of a folder, tar, zip, wheel or npm tarball.

    Raises:
        NoDigestError: it cannot be read, two readers may see different files in it, or it has a link or special file.
    """
    try:
        return content_of(_folder_files(path)) if path.is_dir() else _archive_content(path)
    except (OSError, ValueError) as error:
        fault = getattr(error, "strerror", None) or "bad name"
    except ArchiveError as error:
        fault = error.detail
    except NoDigestError as error:
        fault = error.detail
    raise NoDigestError(f"{printable(str(path), 400)}: {fault}")


def _archive_content(path: Path) -> Content:
    data = read_at_most(path, limits.MAX_PACKAGE)
    try:
        files = read_package(data)
    except ArchiveError as error:
        raise NoDigestError(f"the content is ambiguous: {error.detail}; {EXTRACT}") from None
    if is_zip(data):
        return content_of({name: sha256(content).hexdigest() for name, content in files.items()})
    return bundle_content(files)


def _folder_files(root: Path) -> dict[str, str]:
    """Return the sha256 of every file below a folder by name; nothing is skipped (ArchiveError, OSError)."""
    files: dict[str, str] = {}
    folders: set[str] = set()
    waiting, remaining = [PurePosixPath()], limits.MAX_PACKAGE_EXPANDED
    while waiting:
        folder = waiting.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = plain_name(str(folder / entry.name))
                if len(files) + len(folders) >= limits.MAX_PACKAGE_ENTRIES:
                    raise ArchiveTooLargeError("has too many entries")
                if entry.is_dir(follow_symlinks=False):
                    folders.add(name)
                    waiting.append(folder / entry.name)
                    continue
                files[name], size = _file_digest(entry.path, name, remaining)
                remaining -= size
    check_names(files, folders)
    return files


def _file_digest(path: str, name: str, most: int) -> tuple[str, int]:
    """Return the sha256 and the size of a file of at most `most` bytes."""
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:  # a link, a socket
            raise ArchiveError(f"`{printable(name)}` is neither a regular file nor a folder") from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ArchiveError(f"`{printable(name)}` is neither a regular file nor a folder")
        digest, size = sha256(), 0
        while chunk := file.read(limits.MIB):
            digest.update(chunk)
            size += len(chunk)
            if size > most:
                raise ArchiveTooLargeError(f"`{printable(name)}` takes the files over their size limit")
    return digest.hexdigest(), size
