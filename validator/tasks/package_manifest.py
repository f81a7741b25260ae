"""Manifest of packed packages, pinned by hash: what each task is made of."""

import re
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from sssa.protocol import limits
from sssa.protocol.skill_types import SkillType, require_assessed
from sssa.protocol.sssa import Document, Hex32, Text
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.task import Windows
from validator.tasks.folder import label, read_bounded
from validator.tasks.source import TaskError

_BYTES: Final = 4 * limits.MIB
_MOST: Final = 1_024  # packages
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", re.ASCII)
NAME_RULE: Final = "`name` must be letters, digits, `.`, `_` and `-`, and begin with none of `.` and `-`"


class Artifact(Document, frozen=True):
    """The archive that was packed."""

    name: Text
    sha256: Hex32


class Package(Document, frozen=True):
    """One task: where its bundle comes from, what exactly that was, and its options.

    Attributes:
        name: of the task's folder.
        source: a path, which has a slash and is relative to the manifest's folder, or an installed distribution.
        package: the package of a registry or a repository that this is (see `parse_reference`); None if not known.
        version: of an installed distribution, else None.
        artifact: the archive; None for a folder and an installed distribution.
        bundle_sha256: of the bundle.
    """

    name: Text
    source: Text
    package: Text | None
    version: Text | None
    artifact: Artifact | None
    bundle_sha256: Hex32
    skill_type: SkillType
    canary: Text | None
    windows: Windows | None

    def __post_init__(self) -> None:
        require_assessed(self.skill_type)
        if not NAME.fullmatch(self.name):
            raise ValueError(NAME_RULE)


class Packages(Document, frozen=True):
    """All of them, by name."""

    manifest_version: Literal["1.0"]
    packages: Annotated[tuple[Package, ...], msgspec.Meta(max_length=_MOST)]

    def __post_init__(self) -> None:
        names = [package.name for package in self.packages]
        if len(set(names)) < len(names):
            raise ValueError("`packages` has a name twice")


def read_packages(file: Path) -> Packages:
    """Return what the manifest holds; nothing where there is no such file.

    Raises:
        TaskError: it cannot be read, or is no manifest; the text names the field.
    """
    return parse_packages(read_bounded(file, _BYTES), file) if file.exists() else Packages("1.0", ())


def parse_packages(data: bytes, file: Path) -> Packages:
    """Return what a manifest's bytes say (TaskError: they are none)."""
    try:
        return decode(data, Packages, limit=_BYTES)
    except JsonError as error:
        raise TaskError(f"`{label(file)}`: {error.detail}") from None
