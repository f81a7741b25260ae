"""What a condition is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from validator.conditions.seen import SeenRound

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
    """

    name: str
    severity: Severity
    meaning: str
    advice: str
    in_round: Callable[[SeenRound], str | None] | None = None
