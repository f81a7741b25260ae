"""Collection of the files to pack from a folder, archive or installed distribution. They are untrusted, never run."""

import importlib.metadata
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from sssa.protocol import limits
from sssa.protocol.archives import ArchiveError
from sssa.protocol.strict_archives import EXTRACT, common_folder, read_package
from sssa.protocol.text import printable
from validator.tasks.folder import label, read_bounded
from validator.tasks.source import TaskError

MAX_CANDIDATES: Final = 200_000
_LFS: Final = b"version https://git-lfs.github.com/spec/"
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar")
# Tool output and dependencies; package.json and pyproject.toml name the dependencies.
_LEFT_OUT_FOLDERS = frozenset(
    [
        "__pycache__",
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        ".tox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    ]
)
# Task files, the ground truth among them, and files with secret names are never sent to miners.
_SECRET_NAMES = frozenset(
    {"task.json", "task.draft.json", "task.draft.txt", "bundle.tar.gz", "truth.json", ".env", "id_rsa", "id_ed25519"}
)
_LEFT_OUT_ENDINGS = (".pyc", ".pyo")
# What an installer writes next to a distribution differs from machine to machine.
_INSTALLER_FILES = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"})
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?", re.ASCII)


class Candidate(NamedTuple):
    """One file that may enter a bundle: its name as found, its size in bytes, and how to read it.

    `read` returns the content or raises `TaskError`; the content may be larger than `size` if the file grew meanwhile.
    """

    name: str
    size: int
    read: Callable[[], bytes]


@dataclass(slots=True)
class Collection:
    """Files found at one place.

    Attributes:
        name: of the folder, archive or distribution.
        files: unordered.
        left_out: names of what was found there and is not taken.
        notes: messages for the operator; each file that was left out has one.
    """

    name: str
    files: list[Candidate] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        """Add a file, or leave it out if its name marks it as compiled or secret.

        Raises:
            TaskError: more than MAX_CANDIDATES files.
        """
        last = candidate.name.rpartition("/")[2]
        if last.endswith(_LEFT_OUT_ENDINGS):
            self.leave_out(candidate.name, "compiled")
            return
        if last in _SECRET_NAMES:
            self.leave_out(candidate.name, "not for miners")
            return
        if len(self.files) >= MAX_CANDIDATES:
            raise TaskError(f"more than {MAX_CANDIDATES} files: name a smaller folder")
        self.files.append(candidate)

    def leave_out(self, name: str, reason: str) -> None:
        """Note a file that is not taken."""
        self.left_out.append(name)
        self.notes.append(f"left out `{printable(name)}`: {reason}")


def collected(what: str | Path) -> Collection:
    """Return what is to be packed.

    Args:
        what: a folder, a wheel or other zip, an sdist, npm package or other tar (`.tar`, `.tar.gz`, `.tgz`), or the
            name of an installed distribution. A path that exists wins over a distribution of that name. A single
            top-level folder in an archive is stripped, except in wheels.

    Raises:
        TaskError: it is not found, it is larger than anything that could be packed, or two readers of the
            archive may see different files in it.
    """
    path = Path(what)
    if what == "":
        raise TaskError("name what is to be packed")  # Path("") would be the working folder
    if path.is_dir():
        return _from_folder(path)
    if path.is_file() and path.name.endswith(_ARCHIVES):
        return _from_archive(path)
    if isinstance(what, str) and not path.exists():
        return _from_distribution(what)
    raise TaskError(f"`{label(path)}` is no folder, zip, wheel, tar, sdist or installed distribution")


def _from_folder(root: Path) -> Collection:
    collection = Collection(printable(root.resolve().name) or "skill")
    waiting = [PurePosixPath()]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            raise TaskError(f"`{printable(str(folder))}` cannot be listed: {error.strerror}") from None
        for entry in entries:
            _take(collection, waiting, folder, entry)
    return collection


def _take(collection: Collection, waiting: list[PurePosixPath], folder: PurePosixPath, entry: os.DirEntry[str]) -> None:
    name = folder / entry.name
    if entry.is_symlink():
        collection.leave_out(str(name), "a link")
    elif entry.is_dir(follow_symlinks=False):
        if entry.name in _LEFT_OUT_FOLDERS:
            collection.leave_out(str(name), "not part of a skill")
        else:
            waiting.append(name)
    elif not entry.is_file(follow_symlinks=False):
        collection.leave_out(str(name), "no regular file")
    else:
        path = Path(entry.path)
        size = entry.stat(follow_symlinks=False).st_size
        collection.add(Candidate(str(name), size, lambda: read_bounded(path, limits.MAX_BUNDLE_FILE, follow=False)))


def _from_archive(path: Path) -> Collection:
    """Read an archive; nothing is written to disk."""
    data = read_bounded(path, limits.MAX_PACKAGE)
    try:
        files = read_package(data)
    except ArchiveError as error:
        raise TaskError(f"the content of `{label(path)}` is ambiguous: {error.detail}; {EXTRACT}") from None
    collection = Collection(printable(path.name))
    top = 0 if path.name.endswith(".whl") else len(common_folder(files))
    for name, content in files.items():
        if content.startswith(_LFS):
            collection.leave_out(name[top:], "kept in git LFS")
        else:
            collection.add(Candidate(name[top:], len(content), partial(bytes, content)))
    return collection


def _from_distribution(name: str) -> Collection:
    if not _DISTRIBUTION.fullmatch(name):
        raise TaskError(f"`{printable(name)}` is no path that exists and no distribution; nothing is downloaded")
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise TaskError(f"`{name}` is no path that exists and no installed distribution") from None
    collection = Collection(name)
    compiled = 0
    for entry in distribution.files or ():
        parts = PurePosixPath(entry).parts
        if entry.name.endswith(_LEFT_OUT_ENDINGS):
            collection.left_out.append(str(entry))
            compiled += 1
        elif ".." in parts or PurePosixPath(entry).is_absolute():
            collection.leave_out(str(entry), "installed elsewhere")
        elif len(parts) == 1 or not parts[0].endswith(".dist-info") or entry.name not in _INSTALLER_FILES:
            _take_installed(collection, str(PurePosixPath(entry)), Path(str(distribution.locate_file(entry))))
        else:
            collection.leave_out(str(entry), "the installer wrote it")
    if compiled:
        collection.notes.append(f"left out {compiled} compiled files")
    if not collection.files:
        raise TaskError(f"the distribution `{name}` names no files")
    return collection


def _take_installed(collection: Collection, name: str, path: Path) -> None:
    try:
        status = path.stat()
    except OSError:
        collection.leave_out(name, "listed, but not there")
        return
    if stat.S_ISREG(status.st_mode):
        collection.add(Candidate(name, status.st_size, lambda: read_bounded(path, limits.MAX_BUNDLE_FILE)))
    else:
        collection.leave_out(name, "no regular file")
