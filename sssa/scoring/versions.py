"""A scoring version as one value (its name, numbers and functions), the known ones, and their schedule by epoch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from sssa.protocol.errors import ValidatorError
from sssa.protocol.runtime_image import ScheduleError, check_starts, name_at
from sssa.protocol.text import printable
from sssa.scoring.v1 import collusion, groups, planning, reputation, round, step, weights  # noqa: A004 - its term
from sssa.scoring.v1.rules import RULES as RULES_1
from sssa.scoring.v1.rules import Rules
from sssa.scoring.v2 import groups as groups_2
from sssa.scoring.v2 import inputs as inputs_2
from sssa.scoring.v2 import pay as pay_2
from sssa.scoring.v2 import tally_round as round_2
from sssa.scoring.v2.rules import RULES as RULES_2
from sssa.scoring.v2.rules import Rules20


@dataclass(frozen=True, slots=True)
class Version:
    """Everything in which scoring versions differ, here that of 1.0.0.

    Anyone who holds a stored round asks `version(round.scoring_version)`. Functions with one form are called by their
    names, and take the version as their first argument where they need its numbers.
    """

    name: str
    rules: Rules

    pays_tallies = False

    # Groups (SPEC 8)
    complete = planning.complete
    plan_tasks = planning.plan_tasks
    select_group = groups.select_group
    rank_key = groups.rank_key

    # Rounds (SPEC 4 to 10)
    score_group = round.score_group
    collusion_round = collusion.collusion_round
    member_event = reputation.member_event
    step = step.step

    # Weights (SPEC 11)
    mechanism_weights = weights.mechanism_weights
    entries_of = weights.entries_of
    pay_basis = weights.pay_basis


class Version20(Version):
    """2.0.0: turns instead of ranks, tallies against truth and the others (SPEC 17)."""

    __slots__ = ()

    rules: Rules20
    pays_tallies = True

    complete = inputs_2.complete
    plan_tasks = inputs_2.plan_tasks
    select_group = groups_2.select_group  # type: ignore[assignment]  # its candidates have turns
    rank_key = groups_2.rank_key  # type: ignore[assignment]  # the same
    score_group = round_2.score_group
    collusion_round = staticmethod(round_2.collusion_round)
    member_event = round_2.member_event
    step = round_2.step
    mechanism_weights = pay_2.mechanism_weights
    entries_of = pay_2.entries_of
    pay_basis = pay_2.pay_basis


CURRENT: Final = "1.0.0"
"""The version of new rounds, unless a schedule says another."""

VERSIONS: Mapping[str, Version] = MappingProxyType(
    {one.name: one for one in (Version("1.0.0", RULES_1), Version20("2.0.0", RULES_2))}
)


class UnknownScoringVersionError(ValidatorError):
    """No code here scores this version."""


def version(name: str) -> Version:
    """Return the version with this name (UnknownScoringVersionError: naming the version and those that are known)."""
    known = VERSIONS.get(name)
    if known is None:
        raise UnknownScoringVersionError(f"`{printable(name, 40)}`; this program scores {', '.join(VERSIONS)}")
    return known


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
"""The version of new rounds where no schedule says another, from the start."""
