"""Who lives in the local network: names, behaviours, and when each joins or turns."""

from dataclasses import dataclass
from typing import Final, Literal

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
    "cohort",
]
HONEST: Final[frozenset[Kind]] = frozenset({"thorough", "partial", "slow"})


@dataclass(frozen=True, slots=True)
class Resident:
    """One local miner.

    Attributes:
        name: its hotkey derives from it.
        kind: how it behaves.
        joins: the first round it is registered for.
        turns: for the cohort: from this round on it fabricates; before, it is thorough.
        max_concurrent: open dispatches per type that it declares.
    """

    name: str
    kind: Kind
    joins: int = 0
    turns: int = 0
    max_concurrent: int = 2


def demo_roster() -> tuple[Resident, ...]:
    """Return the network of `make demo`: every behaviour, mostly honest miners."""
    crowd: tuple[tuple[Kind, int], ...] = (
        ("thorough", 5),
        ("partial", 3),
        ("sloppy", 1),
        ("lazy", 1),
        ("slow", 1),
        ("dead", 1),
        ("garbage", 1),
        ("oversized", 1),
        ("wrong_signature", 1),
        ("replayed", 1),
        ("cohort", 3),
    )
    return tuple(Resident(f"{kind}-{number}", kind) for kind, many in crowd for number in range(1, many + 1))


def collusion_roster() -> tuple[Resident, ...]:
    """Return a young network whose three most trusted miners turn when it grows.

    The cohort and two others are there from the start. The cohort takes two tasks of a type at once, the others one, so
    it has the top reputation, honestly earned, when the others join; from then on it shares fabricated answers.
    """
    turning = 4
    cohort = tuple(Resident(f"cohort-{n}", "cohort", turns=turning) for n in range(1, 4))
    first = tuple(Resident(f"thorough-{n}", "thorough", max_concurrent=1) for n in range(1, 3))
    later = tuple(Resident(f"thorough-{n}", "thorough", joins=turning, max_concurrent=1) for n in range(3, 10))
    partial = tuple(Resident(f"partial-{n}", "partial", joins=turning, max_concurrent=1) for n in range(1, 5))
    return cohort + first + later + partial
