"""Populations: who takes part in a simulated network, and in what world; read from TOML, checked field by field."""

import json
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta, Struct

from sssa.protocol.answer import Role
from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Verdict
from sssa.protocol.text import printable

Part = Annotated[float, Meta(ge=0, le=1)]
Level = Annotated[float, Meta(gt=0, lt=1)]
Name = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9-]{0,39}\Z")]
Behaviour = Literal[
    "honest",
    "lazy",
    "constant",
    "copier",
    "sharer",
    "framer",
    "fabricator",
    "poisoner",
    "hopper",
    "thinner",
    "inventor",
    "selective",
]
MOST_MINERS: Final = 1_024
_LARGEST_FILE: Final = 1 << 20


class PopulationError(ValidatorError):
    """The population cannot be played."""


class World(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters of tasks and analyses.

    Attributes:
        kinds: of faults that there are.
        hardness: spread of the log odds of finding them.
        planted: tasks made for the round with a known truth; absent: as many as the version has.
        curated: share of the ordinary tasks that are curated: the validator knows their faults (D-49).
        advisories: share of the kinds that are advisories of dependencies.
        wording: share of the findings that are in the words that most use.
        alarms: false findings of an analyst that finds nothing, per task.
        tool_share: share of an analyst's luck that is its tool's.
        blind: share of the kinds that a tool never finds.
        epoch: of the first round.
        epoch_rounds: rounds between two vectors.
    """

    kinds: Annotated[int, Meta(ge=12, le=500)] = 48
    hardness: Annotated[float, Meta(ge=0, le=3)] = 0.8
    planted: Annotated[int, Meta(ge=0, le=6)] | None = None
    curated: Part = 0.0
    advisories: Part = 0.0
    wording: Part = 0.85
    alarms: Annotated[float, Meta(ge=0, le=20)] = 2.0
    tool_share: Part = 0.3
    blind: Part = 0.15
    epoch: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    epoch_rounds: Annotated[int, Meta(ge=1, le=1_000)] = 10


class Group(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Miners of one behaviour.

    Attributes:
        name: of the group; its miners are `name-1`, `name-2`, …
        count: how many.
        behaviour: what they do.
        skill: chance of finding a fault of middling difficulty; two numbers: graded evenly from one to the other.
        tool: whose luck and blindness they share.
        speed: part of the time window that they take.
        fails: share of the dispatches that fail a gate.
        types: that they declare; absent: all.
        arrives, leaves: first round with them, first without.
        share: of the tasks in which they share, copy, frame or invent; in the others they do what honest miners do.
            Of a thinner: the part of the rounds, in tenths, in which it declares.
        role, majority: they share, copy, frame or invent in this role alone; where they are most of the group alone.
        redone: part of a shared analysis that each does again.
        omits: what each leaves out of its findings: `place`: the n-th fault of each task, n its number modulo eight;
            `kind`: those of an eighth of the kinds, another one for each; `chance`: one of eight; `easy`: easy kinds.
        sprays: advisories of which each answer has findings with so many in each, until all known ones are listed.
        voids: dispatches that a miner makes void: those with `hard` faults, or all but the planted that it `knows`.
        effort: share of the tasks that a lazy miner analyses.
        knows: share of the planted tasks that are recognized (fabricator, poisoner).
        stock: they run their tool as it comes, so that all who run it say the same.
        every: rounds after which a hopper takes a new hotkey.
        of: name of the miner that is copied or framed.
        verdict, risk: that a constant miner says.
    """

    name: Name
    behaviour: Behaviour
    count: Annotated[int, Meta(ge=1, le=MOST_MINERS)] = 1
    skill: Level | Annotated[tuple[float, ...], Meta(min_length=2, max_length=2)] = 0.6
    tool: Name | Literal[""] = ""
    speed: Annotated[float, Meta(ge=0, le=1)] = 0.2
    fails: Part = 0.0
    types: Annotated[tuple[SkillType, ...], Meta(min_length=1, max_length=6)] = ASSESSED_TYPES
    arrives: Annotated[int, Meta(ge=0)] = 0
    leaves: Annotated[int, Meta(ge=1)] | None = None
    share: Part = 1.0
    role: Role | Literal[""] = ""
    majority: bool = False
    redone: Part = 0.0
    omits: Literal["", "place", "kind", "chance", "easy"] = ""
    sprays: Annotated[int, Meta(ge=0, le=64)] = 0
    voids: Literal["", "hard", "ordinary"] = ""
    effort: Part = 0.3
    knows: Part = 0.0
    stock: bool = False
    every: Annotated[int, Meta(ge=2, le=10_000)] = 30
    of: Name | Literal[""] = ""
    verdict: Verdict = "ALLOW"
    risk: Part = 0.0

    def level(self, number: int) -> float:
        """Return the skill of a miner of the group, counted from 0."""
        if isinstance(self.skill, float):
            return self.skill
        low, high = self.skill
        return low if self.count == 1 else low + (high - low) * number / (self.count - 1)


class Population(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A network to play.

    Attributes:
        miners: groups of them.
        world: what they meet.
        version: scoring version.
        rounds: how many.
        validators: that ask the same miners, each with its own tasks and draws.
        seed: of everything that is drawn.
    """

    miners: Annotated[tuple[Group, ...], Meta(min_length=1, max_length=200)]
    world: World = World()
    version: Literal["1.0.0", "2.0.0"] = "2.0.0"
    rounds: Annotated[int, Meta(ge=1, le=100_000)] = 100
    validators: Annotated[int, Meta(ge=1, le=16)] = 1
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 1

    @property
    def members(self) -> "list[Player]":
        """Every miner, in the order of the groups."""
        return [Player(group, number) for group in self.miners for number in range(group.count)]


class Player(NamedTuple):
    """One miner of a group, counted from 0."""

    group: Group
    number: int

    @property
    def name(self) -> str:
        """Its name: that of the group and a number from 1."""
        return f"{self.group.name}-{self.number + 1}"

    @property
    def level(self) -> float:
        """Its skill."""
        return self.group.level(self.number)


def read_population(path: Path) -> Population:
    """Return the population in a TOML file (PopulationError: it names the field, what is wrong and what to write)."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise PopulationError(f"{path}: {error.strerror}; name a TOML file, as docs/mechanism.md shows one") from None
    if len(data) > _LARGEST_FILE:
        raise PopulationError(f"{path}: more than 1 MiB; a population of groups is a page long")
    try:
        document = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise PopulationError(f"{path}: no TOML: {printable(str(error), 200)}; correct that line") from None
    return population_of(document, str(path))


def population_of(document: object, where: str = "population") -> Population:
    """Return the population that a plain document describes; raises as `read_population`."""
    try:
        population = msgspec.convert(document, Population, strict=True)
    except msgspec.ValidationError as error:
        raise PopulationError(f"{where}: {printable(str(error), 300)}; {_advice(str(error))}") from None
    fault = next(_faults(population), None)
    if fault is not None:
        raise PopulationError(f"{where}: {fault}")
    return population


def _advice(error: str) -> str:
    if "unknown field" in error:
        fields = {"miners": Group, "world": World}
        kind = next((kind for name, kind in fields.items() if f"$.{name}" in error), Population)
        return f"write one of {', '.join(kind.__struct_fields__)}"
    if "missing required field" in error:
        return "add it: [[miners]] needs name and behaviour"
    if "Invalid enum value" in error:
        return f"behaviours are {', '.join(get_args(Behaviour))}; types are {', '.join(ASSESSED_TYPES)}"
    return "write a value of that type within these bounds; numbers like 0.6 with their point"


def _faults(population: Population) -> Iterator[str]:
    """Yield what no field says alone."""
    names = [group.name for group in population.miners]
    if len(set(names)) < len(names):
        double = next(name for name, after in pairwise(sorted(names)) if name == after)
        yield f"`miners`: two groups are named {double} - rename one"
    if sum(group.count for group in population.miners) > MOST_MINERS:
        yield f"`miners`: more than {MOST_MINERS} - lower `count`"
    known = {player.name for player in population.members}
    for place, group in enumerate(population.miners):
        if group.behaviour in {"copier", "framer"} and group.of not in known:
            yield f"`miners[{place}].of`: no miner is named {group.of or 'so'} - write {names[0]}-1"
        if group.stock and not group.tool:
            yield f"`miners[{place}].tool`: a stock tool has a name - write it"
        if group.leaves is not None and group.leaves <= group.arrives:
            yield f"`miners[{place}].leaves`: {group.leaves} is not after `arrives` - raise it"
        if isinstance(group.skill, tuple) and not 0 < group.skill[0] <= group.skill[1] < 1:
            yield f"`miners[{place}].skill`: {list(group.skill)} - write two numbers between 0 and 1, the smaller first"


def toml_of(population: Population) -> str:
    """Return a population as TOML, without the fields that are as usual."""
    lines = [f"{name} = {_toml(getattr(population, name))}" for name in ("version", "rounds", "validators", "seed")]
    lines += ["", "[world]", *_fields(population.world, World())]
    for group in population.miners:
        lines += ["", "[[miners]]", *_fields(group, Group(name="", behaviour="honest"))]
    return "\n".join(lines) + "\n"


def _fields(one: Struct, usual: Struct) -> list[str]:
    names = [
        name for name in one.__struct_fields__ if getattr(one, name) != getattr(usual, name) or name == "behaviour"
    ]
    return [f"{name} = {_toml(getattr(one, name))}" for name in names]


def _toml(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)
