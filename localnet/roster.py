"""The cast of a local network as data: names, behaviours, and when each joins or changes sides. No I/O."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, is_runtime

Kind = Literal[
    "thorough",
    "partial",
    "sloppy",
    "lazy",
    "slow",
    "dead",
    "garbage",
    "oversized",
    "wrong_signature",
    "replayed",
    "inventing",
    "pretending",
    "sleeping",
    "copying",
    "cohort",
]
OWN: Final = "own"
"""The kind of a miner that runs elsewhere: what it does is its own affair."""
PlannerKind = Literal["skilled", "careful", "lavish", "serial", "hasty", "forgetful", "confused"]
_TURNING: Final = 4


@dataclass(frozen=True, slots=True)
class Resident:
    """One local miner.

    Attributes:
        name: its hotkey derives from it, unless it runs elsewhere.
        kind: how it behaves.
        joins: the first round it is registered for.
        turns: for the cohort: from this round on it fabricates; before, it is thorough.
        max_concurrent: open dispatches per type that it declares.
        skill_types: what it declares.
    """

    name: str
    kind: Kind | PlannerKind | Literal["own"]
    joins: int = 0
    turns: int = 0
    max_concurrent: int = 2
    skill_types: tuple[SkillType, ...] = ASSESSED_TYPES


def own_tasks_roster(*, goals: bool) -> tuple[Resident, ...]:
    """Return who answers an owner's tasks: more and less thorough miners, and planners where there are `goals`.

    None is broken: the result of garbage says nothing about a task.
    """
    crowd: tuple[tuple[Kind, int], ...] = (("thorough", 4), ("partial", 3), ("sloppy", 2), ("lazy", 1), ("slow", 1))
    miners = tuple(Resident(f"{kind}-{number}", kind) for kind, many in crowd for number in range(1, many + 1))
    return miners + (_planners() if goals else ())


def demo_roster() -> tuple[Resident, ...]:
    """Return the network of `make demo`: every behaviour, mostly honest miners.

    The bad ones serve two to four types each, so that every type has an honest majority: where most auditors lie, an
    honest primary looks like a colluder (SPEC 9 says what the thresholds can and cannot tell).
    """
    rag, declarative, python, script, mcp, composition = ASSESSED_TYPES
    everything = ASSESSED_TYPES
    crowd: tuple[tuple[Kind, int, tuple[SkillType, ...]], ...] = (
        ("thorough", 7, everything),
        ("partial", 4, everything),
        ("sloppy", 1, (declarative, python, script, mcp)),
        ("lazy", 1, (rag, python, mcp, composition)),
        ("slow", 1, everything),
        ("dead", 1, (declarative, python)),
        ("garbage", 1, (rag, python)),
        ("oversized", 1, (declarative, mcp)),
        ("wrong_signature", 1, (script, mcp)),
        ("replayed", 1, (script, composition)),
        ("inventing", 1, (python, script)),
        ("cohort", 3, (rag, script, composition)),
    )
    miners = tuple(
        Resident(f"{kind}-{number}", kind, skill_types=types)
        for kind, many, types in crowd
        for number in range(1, many + 1)
    )
    return miners + _planners()


def _planners() -> tuple[Resident, ...]:
    """Return those who answer workflow tasks: every skill, the skilled in the majority."""
    crowd: tuple[tuple[PlannerKind, int], ...] = (
        ("skilled", 3),
        ("careful", 1),
        ("lavish", 1),
        ("serial", 1),
        ("hasty", 1),
        ("forgetful", 1),
        ("confused", 1),
    )
    return tuple(
        Resident(f"{kind}-{number}", kind, skill_types=(SkillType.WORKFLOW,))
        for kind, many in crowd
        for number in range(1, many + 1)
    )


def collusion_roster() -> tuple[Resident, ...]:
    """Return a young network whose three most trusted miners turn when it grows.

    The cohort and two others are there from the start. The cohort takes two tasks of a type at once, the others one, so
    it has the top reputation, honestly earned, when the others join; from then on it shares fabricated answers.
    """
    cohort = tuple(Resident(f"cohort-{n}", "cohort", turns=_TURNING) for n in range(1, 4))
    first = tuple(Resident(f"thorough-{n}", "thorough", max_concurrent=1) for n in range(1, 3))
    later = tuple(Resident(f"thorough-{n}", "thorough", joins=_TURNING, max_concurrent=1) for n in range(3, 10))
    partial = tuple(Resident(f"partial-{n}", "partial", joins=_TURNING, max_concurrent=1) for n in range(1, 5))
    return cohort + first + later + partial


def fair_collusion_roster() -> tuple[Resident, ...]:
    """Return the same miners without a head start: all join at once and take as many tasks; three of them turn."""
    return tuple(replace(resident, joins=0, max_concurrent=2) for resident in collusion_roster())


def inventing_roster() -> tuple[Resident, ...]:
    """Return a small network of runtime types in which some miners send traces of no run of theirs.

    Inventing makes up everything else as well; what it costs shows next to the sloppy one, whose report is as bad and
    whose traces are true. Pretending and sleeping report all that there is; of two that copy, one runs each bundle.
    """
    crowd: tuple[tuple[Kind, int], ...] = (
        ("thorough", 4),
        ("partial", 2),
        ("sloppy", 1),
        ("inventing", 1),
        ("pretending", 1),
        ("sleeping", 1),
        ("copying", 2),
    )
    runtime = tuple(filter(is_runtime, ASSESSED_TYPES))
    return tuple(
        Resident(f"{kind}-{number}", kind, skill_types=runtime) for kind, many in crowd for number in range(1, many + 1)
    )
