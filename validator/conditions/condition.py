"""What a condition is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from validator.conditions.seen import SeenRound

QUIET_S: Final = 60.0

Severity = Literal["note", "degraded", "unhealthy"]
"""Unhealthy: it cannot do its work. Degraded: it runs, and somebody should look. Note: it was set up to do less."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that keeps the validator from its work, as health, metrics, log and docs/reference name it.

    Attributes:
        name: snake_case.
        severity: what it makes of the health; a note makes nothing of it.
        meaning: one sentence.
        advice: one sentence: what to look at, what to do.
        in_round: the detail where a round shows it, None where it does not; None for one that a service raises. It
            stands once so many rounds in a row have shown it, and for so long (`Board`).
        quiet_s: the log names it at most once in so many seconds.
    """

    name: str
    severity: Severity
    meaning: str
    advice: str
    in_round: Callable[[SeenRound], str | None] | None = None
    quiet_s: float = QUIET_S
