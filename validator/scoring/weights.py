"""Windows to weights (SPEC 11)."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from validator.protocol.scoring_version import SCORE_WINDOW, WARM_UP_ENTRIES, WEIGHT_CAP, SkillType
from validator.scoring.means import mean

WINDOW_TYPES: Final = tuple(str(t) for t in SkillType)

Windows = Mapping[str, Mapping[str, Sequence[float]]]


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


def miner_score(windows: Mapping[str, Sequence[float]]) -> float:
    """Return the sum of the type scores in the order of SPEC 1 (D-20)."""
    score = 0.0
    for skill_type in WINDOW_TYPES:
        score += type_score(windows.get(skill_type, ()))
    return score


def score_weights(windows: Windows) -> WeightPlan:
    """Return scores and capped weights from {hotkey: {skill_type: entries, oldest first}} (SPEC 11)."""
    scores = {hotkey: miner_score(of_types) for hotkey, of_types in windows.items()}
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
