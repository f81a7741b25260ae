"""What the conditions of rounds are read from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from validator.protocol.reasons import Reason


@dataclass(frozen=True, slots=True)
class Declared:
    """What the miners' declarations came to when they were last asked.

    Attributes:
        asked: miners that were asked.
        valid: declarations that count.
        refused: why the others do not, and how many for each.
        clock: how many of those are what a clock that is off makes of good ones.
    """

    asked: int
    valid: int
    refused: Mapping[str, int] = field(default_factory=dict)
    clock: int = 0


@dataclass(frozen=True, slots=True)
class SeenRound:
    """One round that ended, in numbers.

    Attributes:
        reason: how it ended.
        seconds: from snapshot to end.
        tasks: that the sources gave, canaries not among them.
        miners: in its input.
        dispatches: planned.
        answers: how many ended with which reason; void ones not among them.
        t_min: of each type with an answer that came too early: seconds.
        declared: the last declarations; None before the first.
    """

    reason: Reason
    seconds: float = 0.0
    tasks: int = 0
    miners: int = 0
    dispatches: int = 0
    answers: Mapping[Reason, int] = field(default_factory=dict)
    t_min: Mapping[str, float] = field(default_factory=dict)
    declared: Declared | None = None

    @property
    def early(self) -> int:
        """Answers that passed and came before t_min."""
        return self.answers.get(Reason.ACCEPTED_EARLY, 0)

    @property
    def passed(self) -> int:
        """Answers that passed their gates."""
        return sum(self.answers.get(reason, 0) for reason in PASSED)


PASSED = (Reason.ACCEPTED, Reason.ACCEPTED_EARLY, Reason.WORKFLOW_DEFERRED)
