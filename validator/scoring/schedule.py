"""Which version new rounds are frozen under, by epoch: what the validators of a subnet agree on (SPEC 16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.scoring.versions import CURRENT, UnknownScoringVersionError, version


class ScheduleError(ValidatorError):
    """The schedule of scoring versions cannot be followed."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Versions with the epochs from which on they score new rounds.

    Attributes:
        starts: version to first epoch, in order: the first from epoch 0 on, each later than the one before.

    Raises:
        ScheduleError: naming the setting, what is wrong with it and what to write.
    """

    starts: Mapping[str, int] = field(default_factory=lambda: {CURRENT: 0})

    def __post_init__(self) -> None:
        for name in self.starts:
            try:
                version(name)
            except UnknownScoringVersionError as error:
                raise ScheduleError(f"scoring.schedule: {error}") from None
        if next(iter(self.starts.values()), None) != 0:
            raise ScheduleError("scoring.schedule: the first version must begin at epoch 0")
        for (_, first), (name, then) in pairwise(self.starts.items()):
            if then <= first:
                fault = f"must begin after epoch {first}, with which the one before it begins"
                raise ScheduleError(f"scoring.schedule: {printable(name, 40)} {fault}")

    def version_at(self, epoch: int) -> str:
        """Return the version that a round of this epoch is frozen under."""
        return [name for name, first in self.starts.items() if first <= epoch][-1]


DEFAULT: Final = Schedule()
"""The newest version, from the start."""
