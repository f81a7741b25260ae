"""Which version new rounds are frozen under, by epoch: what the validators of a subnet agree on (SPEC 16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from validator.protocol.runtime_image import ScheduleError, check_starts, name_at
from validator.scoring.versions import CURRENT, UnknownScoringVersionError, version


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
        check_starts("scoring.schedule", self.starts)

    def version_at(self, epoch: int) -> str:
        """Return the version that a round of this epoch is frozen under."""
        return name_at(self.starts, epoch)


DEFAULT: Final = Schedule()
"""The newest version, from the start."""
