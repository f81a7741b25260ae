"""Labels of what a sandbox makes in an engine: whose it is, and until when it can be of use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from validator.sources import Clock, SystemClock

OWNER: Final = "org.sssa.sandbox.owner"
UNTIL: Final = "org.sssa.sandbox.until"
_SLACK_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Owner:
    """One process that runs images.

    What it left when it died is removed when it starts again; what others left, when its time is over.

    Attributes:
        name: no two processes that use one engine at a time have the same.
        clock: for the times.
    """

    name: str
    clock: Clock = field(default_factory=SystemClock)

    def labels(self, seconds: float) -> dict[str, str]:
        """Return the labels of something that is of use for so many seconds at most."""
        until = self.clock.now().timestamp() + seconds + _SLACK_S
        return {OWNER: self.name, UNTIL: str(int(until))}

    def may_remove(self, labels: Mapping[str, str]) -> bool:
        """Whether what has these labels is a leftover, if it is not in use by this process."""
        if labels.get(OWNER) == self.name:
            return True
        until = labels.get(UNTIL, "")
        return until.isdecimal() and int(until) < self.clock.now().timestamp()
