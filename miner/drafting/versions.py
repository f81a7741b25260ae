"""Whether a version of a package lies in a range of an OSV advisory: Python's versions, and those of npm."""

import re
from collections.abc import Iterable
from typing import Any, Final, Literal

from packaging.version import InvalidVersion, Version

Ecosystem = Literal["PyPI", "npm"]
Kind = Literal["introduced", "fixed", "last_affected"]

_MAX: Final = 128  # characters of a version
_SEMVER: Final = re.compile(
    r"[v=\s]{0,4}(\d{1,18})(?:\.(\d{1,18}))?(?:\.(\d{1,18}))?(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]{0,100})?"
)


def key_of(ecosystem: Ecosystem, version: str) -> Any:
    """Return what orders the version among those of its ecosystem, None for what is no version."""
    if len(version) > _MAX:
        return None
    if ecosystem == "npm":
        return _semver(version)
    try:
        return Version(version)
    except InvalidVersion:
        return None


def in_range(ecosystem: Ecosystem, version: str, events: Iterable[tuple[Kind, str]]) -> bool:
    """Whether the events of a range leave the version affected; False where one of them is no version.

    An `introduced` of "0" comes before all versions.
    """
    wanted = key_of(ecosystem, version)
    ordered = [(key_of(ecosystem, at), kind) for kind, at in events]
    if wanted is None or any(key is None for key, _ in ordered):
        return False
    first = {"introduced": 0, "fixed": 1, "last_affected": 2}
    affected = False
    for key, kind in sorted(ordered, key=lambda event: (event[0], first[event[1]])):
        if kind == "introduced" and wanted >= key:
            affected = True
        elif (kind == "fixed" and wanted >= key) or (kind == "last_affected" and wanted > key):
            affected = False
    return affected


def _semver(version: str) -> tuple[Any, ...] | None:
    match = _SEMVER.fullmatch(version)
    if match is None:
        return None
    numbers = tuple(int(part or 0) for part in match.group(1, 2, 3))
    # A version comes after its own prereleases, and numbers among their parts before words (semver 2.0, 11).
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in (match[4] or "").split("."))
    return (*numbers, 0, parts) if match[4] else (*numbers, 1, ())
