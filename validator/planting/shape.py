"""Shapes of faults: each plants one fault in a bundle and says where it lies now."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from validator.planting.draws import Draws
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Category, Severity

Family = Literal[
    "exfiltration",
    "secret",
    "injection",
    "capability",
    "poisoned_description",
    "vulnerable_pin",
    "transitive_risk",
]
Difficulty = Literal["easy", "medium", "hard"]
Files = Mapping[str, bytes]


class Plant(NamedTuple):
    """One fault that was planted, as the truth says it (SPEC 16, D-33).

    Attributes:
        changed: the new content of every file that was changed or made; lines of a changed file may move, none is lost.
        path: the file that shows the fault.
        line: its line there, from 1 on, in the new content; None where the file as a whole is the evidence.
        category: as a correct analysis says it (docs/reference-miner.md, Words).
        severity: likewise.
        cve_ids: the advisories of a vulnerable pin.
        target_pattern: what the fault is about, as a finding's `target_pattern` spells it.
        poisoned_tool: the MCP tool whose description was poisoned.
    """

    changed: Files
    path: str
    line: int | None
    category: Category
    severity: Severity
    cve_ids: tuple[str, ...] = ()
    target_pattern: str = ""
    poisoned_tool: str | None = None


class Placed(NamedTuple):
    """A text that has its place: `about` is what it is about, a path where it is empty; `tool` the MCP tool."""

    changed: Mapping[str, bytes]
    path: str
    line: int
    about: str = ""
    tool: str | None = None


Planter = Callable[[Draws, Files, SkillType], Plant | None]


class Shape(NamedTuple):
    """One way to be at fault.

    Attributes:
        name: says what it is, `whole-environment`; unique among all shapes.
        family: what kind of fault it is.
        difficulty: to find it.
        types: skill types whose bundles it may be planted in.
        plant: plants it at a drawn place; None where the bundle has no place for it. It changes nothing but what it
            returns, draws only from what it is given, and leaves a bundle that parses and runs as before.
    """

    name: str
    family: Family
    difficulty: Difficulty
    types: frozenset[SkillType]
    plant: Planter
