"""A manifest of packages: what was packed, pinned by hash, so that the same bundles can be made again."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import msgspec

from validator.protocol import limits
from validator.protocol.skill_types import SkillType, require_assessed
from validator.protocol.sssa import Document, Hex32, Text
from validator.protocol.strict_json import JsonError, decode
from validator.protocol.task import Windows
from validator.tasks.folder import TASK_NAME, label, read_bounded, read_task
from validator.tasks.packing import Packed, PackOptions, pack_task, write_task
from validator.tasks.references import parse_reference, pinned, written
from validator.tasks.source import TaskError

_BYTES: Final = 4 * limits.MIB
_MOST: Final = 1_024  # packages
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)


def require_name(name: str) -> None:
    """Refuse what cannot be the name of a package, which is that of its task's folder.

    Raises:
        ValueError: it cannot.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("`name` must be letters, digits, `.`, `_` and `-`, and begin with none of `.` and `-`")


class PackedFile(Document, frozen=True):
    """The file that was packed; `integrity` is its hash as npm writes it."""

    name: Text
    sha256: Hex32
    integrity: Text | None


class Package(Document, frozen=True):
    """One task: where its bundle comes from, what exactly that was, and what was said beside it.

    Attributes:
        name: of the task's folder.
        source: as it was named; a path, which has a slash, is relative to the manifest's folder.
        version: of a distribution or an npm package, else None.
        commit: of a repository, else None.
        artifact: the archive; None for a folder, an installed distribution and a repository.
        bundle_sha256: of the bundle.
    """

    name: Text
    source: Text
    version: Text | None
    commit: Text | None
    artifact: PackedFile | None
    bundle_sha256: Hex32
    skill_type: SkillType
    canary: Text | None
    windows: Windows | None

    def __post_init__(self) -> None:
        require_assessed(self.skill_type)
        require_name(self.name)


class Packages(Document, frozen=True):
    """All of them, by name."""

    manifest_version: Literal["1.0"]
    packages: Annotated[tuple[Package, ...], msgspec.Meta(max_length=_MOST)]

    def __post_init__(self) -> None:
        names = [package.name for package in self.packages]
        if len(set(names)) < len(names):
            raise ValueError("`packages` has a name twice")


class Rebuilt(NamedTuple):
    """What became of a package: `fault` says why its task was not made; `there` is whether it stood there already."""

    package: Package
    path: Path
    fault: str | None
    there: bool


def read_packages(file: Path) -> Packages:
    """Return what the manifest holds; nothing where there is no such file.

    Raises:
        TaskError: it cannot be read, or is no manifest; the text names the field.
    """
    return parse_packages(read_bounded(file, _BYTES), label(file)) if file.exists() else Packages("1.0", ())


def parse_packages(data: bytes, name: str) -> Packages:
    """Return the manifest that `data` is; `name` is what it is called in errors.

    Raises:
        TaskError: it is none; the text names the field.
    """
    try:
        return decode(data, Packages, limit=_BYTES)
    except JsonError as error:
        raise TaskError(f"`{name}`: {error.detail}") from None


def rebuild(file: Path, out: Path, *, replace: bool) -> Iterator[Rebuilt]:
    """Pack everything in the manifest again, to folders below `out`, and yield what became of each. Blocks.

    A task whose bundle hashes otherwise, or whose archive does, is not written. One that is there already with the same
    bundle is left as it is, its truth with it.

    Args:
        file: the manifest.
        out: the folder of the tasks' folders.
        replace: whether a task with another bundle may be replaced.

    Raises:
        TaskError: the manifest cannot be read, or holds nothing.
    """
    packages = read_packages(file).packages
    if not packages:
        raise TaskError(f"`{label(file)}` holds no package")
    for package in packages:
        path, there, fault = out / package.name, False, None
        try:
            packed = _again(package, file.parent)
            there = _is_there(package, path, replace=replace)
            if not there:
                write_task(packed.task, path)
        except TaskError as error:
            fault = error.detail
        yield Rebuilt(package, path, fault, there)


def _again(package: Package, folder: Path) -> Packed:
    options = PackOptions(package.skill_type, windows=package.windows, canary=package.canary)
    packed = pack_task(_exactly(package, folder), options)
    artifact = packed.pin.artifact
    if package.artifact is not None:
        found = None if artifact is None else artifact.sha256
        if found != package.artifact.sha256.lower():
            raise TaskError(f"`{package.name}`: the file hashes to {found}, not to {package.artifact.sha256}")
    if packed.task.task.bundle_sha256 != package.bundle_sha256.lower():
        made = packed.task.task.bundle_sha256
        raise TaskError(f"`{package.name}`: the bundle hashes to {made}, not to {package.bundle_sha256}")
    return packed


def _exactly(package: Package, folder: Path) -> str | Path:
    """Return what `pack_task` makes the same bundle of: the version and the commit that were found, no newer ones."""
    reference = parse_reference(package.source)
    if reference is not None:
        return written(pinned(reference, package.version, package.commit))
    return folder / package.source if "/" in package.source else package.source


def _is_there(package: Package, path: Path, *, replace: bool) -> bool:
    if not (path / TASK_NAME).exists():
        return False
    try:
        if read_task(path).task.bundle_sha256 == package.bundle_sha256.lower():
            return True
    except TaskError:
        pass
    if not replace:
        raise TaskError(f"`{label(path)}` holds another task already: name another folder, or replace it (--replace)")
    return False
