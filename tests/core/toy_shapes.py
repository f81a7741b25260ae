"""Shapes of faults for the tests of planting: each puts one line somewhere."""

from typing import Any

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.sources import Draws
from taskmaker.planting.planting import Company, Constraints, Files, Plant, Planter, Shape

ALONE = Company((), lambda *_: None, {}, (), ())
"""No harmless additions next to faults."""


def appending(name: str, path: str, **changes: Any) -> Planter:
    """Return what puts the line `name` at a drawn place of `path`."""

    def planted(draws: Draws, files: Files, skill_type: SkillType, request: Constraints) -> Plant | None:
        if path not in files:
            return None
        lines = files[path].decode().splitlines()
        at = draws.number(0, len(lines))
        content = "\n".join([*lines[:at], name, *lines[at:]]) + "\n"
        about: dict[str, Any] = {"category": "secrets_exposure", "severity": "high"} | changes
        return Plant({path: content.encode()}, path, at + 1, **about)

    return planted


def changing(*changed: tuple[str, bytes], path: str | None = None, line: int | None = 1) -> Planter:
    """Return what gives files this content."""
    return lambda *_: Plant(dict(changed), path or changed[0][0], line, "other", "low")


def shape(name: str, plant: Planter, **changes: Any) -> Shape:
    """Return a shape for every type, an easy secret by default."""
    about: dict[str, Any] = {"family": "secret", "difficulty": "easy", "types": frozenset(ASSESSED_TYPES)} | changes
    return Shape(name=name, plant=plant, **about)
