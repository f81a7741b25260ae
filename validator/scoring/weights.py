"""Windows to weights (SPEC 11)."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from validator.protocol.scoring_version import ASSESSED_TYPES, SCORE_WINDOW, WARM_UP_ENTRIES, WEIGHT_CAP, SkillType
from validator.scoring.means import mean

WINDOW_TYPES: Final = tuple(str(t) for t in SkillType)
ASSESSMENTS: Final = tuple(str(t) for t in ASSESSED_TYPES)
WORKFLOWS: Final = (str(SkillType.WORKFLOW),)

Windows = Mapping[str, Mapping[str, Sequence[float]]]


class Share(NamedTuple):
    """A kind of task in a mechanism's vector.

    Attributes:
        types: its windows, in the order of SPEC 1.
        share: of the vector, in proportion to those of the other kinds; 0 leaves it out.
    """

    types: tuple[str, ...]
    share: float


class WeightPlan(NamedTuple):
    """Scores of all miners, capped weights of those above 0, and what could not be placed (D-11)."""

    scores: dict[str, float]
    weights: dict[str, float]
    unallocated: float


def warm_up(entries: int) -> float:
    """Return min(1, entries / 20) for a window of that length (D-13)."""
    return min(1.0, entries / WARM_UP_ENTRIES)


def type_score(entries: Sequence[float]) -> float:
    """Return the mean of the last 100 entries times the warm-up min(1, entries / 20); 0 without entries (D-13)."""
    window = entries[-SCORE_WINDOW:]
    return mean(window) * warm_up(len(window)) if window else 0.0


def miner_score(windows: Mapping[str, Sequence[float]], types: Sequence[str] = WINDOW_TYPES) -> float:
    """Return the sum of the scores of these types, in the order of SPEC 1 (D-20)."""
    score = 0.0
    for skill_type in types:
        score += type_score(windows.get(skill_type, ()))
    return score


def score_weights(windows: Windows) -> WeightPlan:
    """Return scores and capped weights from {hotkey: {skill_type: entries, oldest first}} (SPEC 11)."""
    return _plan({hotkey: miner_score(of_types) for hotkey, of_types in windows.items()})


def mechanism_weights(windows: Windows, kinds: Sequence[Share]) -> WeightPlan:
    """Return scores and capped weights of one mechanism (SPEC 11).

    Where several kinds have miners with positive scores, a miner's score is the sum of its parts of each kind's scores
    times the kind's share, in the order given; a kind without any cedes its share to the others. The cap comes last.
    """
    parts = []
    for kind in kinds:
        scores = {hotkey: miner_score(of_types, kind.types) for hotkey, of_types in windows.items()}
        total = math.fsum(scores.values())
        if kind.share > 0 and total > 0:
            parts.append((kind.share, total, scores))
    if len(parts) == 1:
        return _plan(parts[0][2])
    mixed = dict.fromkeys(windows, 0.0)
    for share, total, scores in parts:
        for hotkey, score in scores.items():
            mixed[hotkey] += share * (score / total)
    return _plan(mixed)


def _plan(scores: dict[str, float]) -> WeightPlan:
    weights = capped_weights({hotkey: score for hotkey, score in scores.items() if score > 0})
    return WeightPlan(scores, weights, 1.0 - math.fsum(weights.values()))


def capped_weights(scores: Mapping[str, float]) -> dict[str, float]:
    """Return weights in proportion to positive scores, none above the cap, in the order given.

    Excess goes to the uncapped in proportion to their scores, repeated until none exceeds the cap; with fewer than 7
    miners the weights sum to less than 1 (D-11).
    """
    capped: set[str] = set()
    while True:
        total = math.fsum(score for hotkey, score in scores.items() if hotkey not in capped)
        left = 1.0 - WEIGHT_CAP * len(capped)
        weights = {hotkey: WEIGHT_CAP if hotkey in capped else left * score / total for hotkey, score in scores.items()}
        over = {hotkey for hotkey, weight in weights.items() if weight > WEIGHT_CAP}
        if not over:
            return weights
        capped |= over
