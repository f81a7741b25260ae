"""Which code is a scoring version: a round is planned and scored by the version it was frozen under, for good.

Here and not beside the formulas, because a version is the draws of `groups` and the numbers of `scoring` together, and
those two know nothing of each other. Pure as they are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from validator.groups.planning import plan_round
from validator.protocol.errors import ValidatorError
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan, RoundResults
from validator.protocol.text import printable
from validator.scoring.round import score_round, window_entries


class UnknownScoringVersionError(ValidatorError):
    """No code here scores this version."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """The functions of one scoring version (SPEC 4 to 11).

    Attributes:
        version: its name, as frozen inputs carry it.
        plan: frozen input to groups (SPEC 8).
        score: input, plan and what came back to the outcome (SPEC 4 to 10).
        window_entries: (hotkey, skill_type, task_id, value) of what enters the score windows, in plan order (SPEC 11).
    """

    version: str
    plan: Callable[[RoundInput], RoundPlan]
    score: Callable[[RoundInput, RoundPlan, RoundResults], RoundOutcome]
    window_entries: Callable[[RoundInput, RoundOutcome], Iterator[tuple[str, str, str, float]]]


SCORERS: Final[Mapping[str, Scorer]] = MappingProxyType(
    {"1.0.0": Scorer(version="1.0.0", plan=plan_round, score=score_round, window_entries=window_entries)}
)


def scorer(version: str) -> Scorer:
    """Return the code that scores `version`.

    Raises:
        UnknownScoringVersionError: naming the version and those that are known.
    """
    found = SCORERS.get(version)
    if found is None:
        raise UnknownScoringVersionError(f"`{printable(version, 40)}`; this program scores {', '.join(SCORERS)}")
    return found
