"""What can be packed that is here: a folder, an archive, an installed distribution. None of it is trusted."""

import importlib.metadata
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from validator.protocol import limits
from validator.protocol.text import printable
from validator.tasks.folder import label, read_bounded
from validator.tasks.sdists import common_folder, read_sdist
from validator.tasks.source import TaskError

MAX_CANDIDATES: Final = 200_000
MAX_WHEEL: Final = 1024 * limits.MIB  # bytes on disk; it is never read whole
_WHEELS = (".whl", ".zip")
_TARS = (".tar.gz", ".tgz", ".tar")
# What a tool put there, or another distribution: package.json and pyproject.toml name what a skill needs.
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
# A task's own parts, truth among them, and what is secret by its name must never travel to miners.
_SECRET_NAMES = frozenset(
    {"task.json", "task.draft.json", "task.draft.txt", "bundle.tar.gz", "truth.json", ".env", "id_rsa", "id_ed25519"}
)
_LEFT_OUT_ENDINGS = (".pyc", ".pyo")
# What an installer writes beside a distribution differs from machine to machine.
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
    """What was found.

    Attributes:
        name: what it is called: a folder's or an archive's name.
        files: in any order.
        notes: one line for whatever was left out.
    """

    name: str
    files: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, candidate: Candidate) -> None:
        """Take in one file.

        Raises:
            TaskError: there are more files than anybody would pack.
        """
        if len(self.files) >= MAX_CANDIDATES:
            raise TaskError(f"more than {MAX_CANDIDATES} files: name a smaller folder")
        self.files.append(candidate)

    def leave_out(self, name: str, reason: str) -> None:
        """Note a file that is not taken."""
        self.notes.append(f"left out `{printable(name)}`: {reason}")


def unwanted(name: str) -> str | None:
    """Return why a file of this name is no part of a skill, None if it may be one."""
    last = name.rpartition("/")[2]
    if last.endswith(_LEFT_OUT_ENDINGS):
        return "compiled"
    return "not for miners" if last in _SECRET_NAMES else None


@contextmanager
def collected(what: str | Path) -> Iterator[Collection]:
    """Give what is to be packed; its files can be read inside the `with` only.

    Args:
        what: a folder, a wheel or other zip, an sdist, npm package or other tar (`.tar`, `.tar.gz`, `.tgz`), or the
            name of an installed distribution. A path that exists wins over a distribution of that name. A folder that
            holds everything in an archive is left off, but for wheels.

    Raises:
        TaskError: there is no such thing, or it is damaged or larger than anything that could be packed.
    """
    path = Path(what)
    if what == "":
        raise TaskError("name what is to be packed")  # Path("") would be the working folder
    if path.is_dir():
        yield _from_folder(path)
    elif path.is_file() and path.name.endswith(_WHEELS):
        with _opened_zip(path) as collection:
            yield collection
    elif path.is_file() and path.name.endswith(_TARS):
        yield _from_tar(path)
    elif isinstance(what, str) and not path.exists():
        yield _from_distribution(what)
    else:
        raise TaskError(f"`{label(path)}` is no folder, zip, wheel, tar, sdist or installed distribution")


def _from_folder(root: Path) -> Collection:
    collection = Collection(printable(root.resolve().name) or "skill")
    waiting = [PurePosixPath()]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
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
    elif reason := unwanted(entry.name):
        collection.leave_out(str(name), reason)
    else:
        path = Path(entry.path)
        size = entry.stat(follow_symlinks=False).st_size
        collection.add(Candidate(str(name), size, lambda: read_bounded(path, limits.MAX_BUNDLE_FILE, follow=False)))


@contextmanager
def _opened_zip(path: Path) -> Iterator[Collection]:
    size = path.stat().st_size
    if size > MAX_WHEEL:
        raise TaskError(f"`{label(path)}` is larger than {MAX_WHEEL} bytes")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > limits.MAX_BUNDLE_RATIO * size:
                raise TaskError(f"`{label(path)}` would expand more than {limits.MAX_BUNDLE_RATIO}-fold")
            collection = Collection(printable(path.name))
            for member in members:
                _take_member(collection, archive, member)
            if not path.name.endswith(".whl"):
                top = len(common_folder(candidate.name for candidate in collection.files))
                collection.files = [candidate._replace(name=candidate.name[top:]) for candidate in collection.files]
            yield collection
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise TaskError(f"`{label(path)}` is no zip that can be read: {printable(str(error))}") from None


def _take_member(collection: Collection, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if member.is_dir():
        return
    if kind not in (0, stat.S_IFREG):
        collection.leave_out(member.filename, "no regular file")
    elif member.flag_bits & 0x1:
        collection.leave_out(member.filename, "encrypted")
    elif member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Others inflate without a bound, however few bytes are asked for.
        collection.leave_out(member.filename, "neither stored nor deflated")
    elif member.filename.endswith(_LEFT_OUT_ENDINGS):
        collection.leave_out(member.filename, "compiled")
    else:
        collection.add(Candidate(member.filename, member.file_size, lambda: _read_member(archive, member)))


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(member) as stream:
            return stream.read(limits.MAX_BUNDLE_FILE + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError) as error:
        raise TaskError(f"`{printable(member.filename)}` cannot be read: {printable(str(error))}") from None


def _from_tar(path: Path) -> Collection:
    collection = Collection(printable(path.name))
    for name, content in read_sdist(path, collection.leave_out):
        if name.endswith(_LEFT_OUT_ENDINGS):
            collection.leave_out(name, "compiled")
        else:
            collection.add(Candidate(name, len(content), partial(bytes, content)))
    return collection


def _from_distribution(name: str) -> Collection:
    if not _DISTRIBUTION.fullmatch(name):
        raise TaskError(f"`{printable(name)}` is no path that exists and no name of a distribution")
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise TaskError(f"`{name}` is no path that exists and no installed distribution") from None
    collection = Collection(name)
    compiled = 0
    for entry in distribution.files or ():
        parts = PurePosixPath(entry).parts
        if entry.name.endswith(_LEFT_OUT_ENDINGS):
            compiled += 1
        elif ".." in parts or PurePosixPath(entry).is_absolute():
            collection.leave_out(str(entry), "installed elsewhere")
        elif len(parts) == 1 or not parts[0].endswith(".dist-info") or entry.name not in _INSTALLER_FILES:
            _take_installed(collection, str(PurePosixPath(entry)), Path(str(distribution.locate_file(entry))))
    if compiled:
        collection.notes.append(f"left out {compiled} compiled files")
    if not collection.files:
        raise TaskError(f"the distribution `{name}` names no files")
    return collection


def _take_installed(collection: Collection, name: str, path: Path) -> None:
    try:
        found = path.stat()
    except OSError:
        collection.leave_out(name, "listed, but not there")
        return
    if stat.S_ISREG(found.st_mode):
        collection.add(Candidate(name, found.st_size, lambda: read_bounded(path, limits.MAX_BUNDLE_FILE)))
    else:
        collection.leave_out(name, "no regular file")
