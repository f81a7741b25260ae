"""Files of an image, and their tar: the same files give the same bytes on every machine and at every time."""

import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO


@dataclass(frozen=True, slots=True)
class File:
    """A regular file.

    Attributes:
        content: its bytes, or the file of this machine that has them.
        mode: its permissions.
    """

    content: bytes | Path
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to `target`."""

    target: str


Tree = Mapping[str, File | Link]
"""Files by their path in the image, without a leading slash; folders follow from them."""


def write_tar(tree: Tree, out: IO[bytes]) -> None:
    """Write the tree as a tar: names sorted, folders 0755, everything root's, times 0."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted({*tree, *_folders(tree)}):
            _add(tar, name, tree.get(name))


def _add(tar: tarfile.TarFile, name: str, entry: File | Link | None) -> None:
    info = tarfile.TarInfo(name)
    if entry is None:
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(info)
    elif isinstance(entry, Link):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.target, 0o777
        tar.addfile(info)
    else:
        # Read whole: a file that changes meanwhile must not end up with another length than its header says.
        content = entry.content if isinstance(entry.content, bytes) else entry.content.read_bytes()
        info.size, info.mode = len(content), entry.mode
        tar.addfile(info, BytesIO(content))


def _folders(names: Iterable[str]) -> set[str]:
    return {str(parent) for name in names for parent in PurePosixPath(name).parents if parent.name}
