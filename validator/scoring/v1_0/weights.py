"""Score windows to a capped weight vector (SPEC 11)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from validator.protocol.arithmetic import mean
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import WINDOW_TYPES, SkillType
from validator.scoring.constants import Ruled
from validator.scoring.values import NO_BASIS, MinerStanding, PayBasis, Share, TypeStanding, WeightPlan
from validator.state.values import Pair, State

Windows = Mapping[str, Mapping[str, Sequence[float]]]
Standing = Mapping[str, MinerStanding]
NOBODY: Final[Standing] = MappingProxyType({})


def warm_up(version: Ruled, entries: int) -> float:
    """Return min(1, entries / warm-up) for a window of that length (D-13)."""
    return min(1.0, entries / version.rules.pay.warm_up)


def type_score(version: Ruled, entries: Sequence[float]) -> float:
    """Return the mean of the entries that count times the warm-up; 0 without entries (D-13)."""
    window = entries[-version.rules.pay.window :]
    return mean(window) * warm_up(version, len(window)) if window else 0.0


def miner_score(version: Ruled, windows: Mapping[str, Sequence[float]], types: Sequence[str] = WINDOW_TYPES) -> float:
    """Return the sum of the scores of these types, in the order of SPEC 1 (D-20)."""
    score = 0.0
    for skill_type in types:
        score += type_score(version, windows.get(skill_type, ()))
    return score


def score_weights(version: Ruled, windows: Windows, standing: Standing = NOBODY) -> WeightPlan:  # noqa: ARG001 - 1.1.0 asks
    """Return scores and capped weights from {hotkey: {skill_type: entries, oldest first}} (SPEC 11).

    Standing decides nothing before 1.1.0.
    """
    return plan_weights(version, {hotkey: miner_score(version, of_types) for hotkey, of_types in windows.items()})


def mechanism_weights(
    version: Ruled,
    windows: Windows,
    kinds: Sequence[Share],
    standing: Standing = NOBODY,  # noqa: ARG001 - nobody is unpaid in this version
    basis: PayBasis = NO_BASIS,  # noqa: ARG001 - 2.0.0 looks at more
) -> WeightPlan:
    """Return scores and capped weights of one mechanism (SPEC 11). Standing decides nothing before 1.1.0.

    Where several kinds have miners with positive scores, a miner's score is the sum of its parts of each kind's scores
    times the kind's share, in the order given; a kind without any cedes its share to the others. The cap comes last.
    """
    scores = [
        {hotkey: miner_score(version, of_types, kind.types) for hotkey, of_types in windows.items()} for kind in kinds
    ]
    return _mixed(version, windows, kinds, scores)


def kind_weights(
    version: Ruled,
    kinds: Sequence[Share],
    assessed: Mapping[str, float],
    planned: Mapping[str, float],
    share: float,  # noqa: ARG001 - a constant in this version
) -> WeightPlan:
    """Return what `mechanism_weights` does, from scores of each kind instead of windows (SPEC 11).

    Args:
        version: whose numbers count.
        kinds: what the mechanism pays for; workflows and whatever else.
        assessed: hotkey to score of assessments.
        planned: hotkey to score of workflows, of the same miners.
        share: of the workflows, from `share_of`.
    """
    scores = [planned if kind.types == (SkillType.WORKFLOW,) else assessed for kind in kinds]
    return _mixed(version, assessed, kinds, scores)


def unpaid_reason(version: Ruled, flags: int, standing: TypeStanding | None) -> Reason | None:  # noqa: ARG001 - 1.1.0 asks
    """Return why a window does not pay: every window does in this version."""
    return None


def share_of(version: Ruled, full: int) -> float:  # noqa: ARG001 - 1.1.0 asks
    """Return the workflows' share of a mechanism that pays both kinds, however many miners prove themselves in them."""
    return version.rules.pay.workflow_part


def _mixed(
    version: Ruled, hotkeys: Iterable[str], kinds: Sequence[Share], of_kinds: Sequence[Mapping[str, float]]
) -> WeightPlan:
    parts = []
    for kind, scores in zip(kinds, of_kinds, strict=True):
        total, share = math.fsum(scores.values()), _share_of(version, kind)
        if share > 0 and total > 0:
            parts.append((share, total, scores))
    if len(parts) == 1:
        return plan_weights(version, dict(parts[0][2]))
    mixed = dict.fromkeys(hotkeys, 0.0)
    for share, total, scores in parts:
        for hotkey, score in scores.items():
            mixed[hotkey] += share * (score / total)
    return plan_weights(version, mixed)


def _share_of(version: Ruled, kind: Share) -> float:
    if kind.share is not None:
        return kind.share
    of_workflows = version.rules.pay.workflow_part
    return of_workflows if kind.types == (SkillType.WORKFLOW,) else 1.0 - of_workflows


def plan_weights(version: Ruled, scores: dict[str, float]) -> WeightPlan:
    """Return the scores with their capped weights and what is left over (SPEC 11, D-11)."""
    weights = capped_weights(version.rules.pay.cap, {hotkey: score for hotkey, score in scores.items() if score > 0})
    return WeightPlan(scores, weights, 1.0 - math.fsum(weights.values()))


def capped_weights(cap: float, scores: Mapping[str, float]) -> dict[str, float]:
    """Return weights in proportion to positive scores, none above `cap`, in the order given.

    Excess goes to the uncapped in proportion to their scores, repeated until none exceeds the cap; with too few
    miners the weights sum to less than 1 (D-11).
    """
    capped: set[str] = set()
    while True:
        total = math.fsum(score for hotkey, score in scores.items() if hotkey not in capped)
        left = 1.0 - cap * len(capped)
        weights = {hotkey: cap if hotkey in capped else left * score / total for hotkey, score in scores.items()}
        over = {hotkey for hotkey, weight in weights.items() if weight > cap}
        if not over:
            return weights
        capped |= over


def entries_of(version: Ruled, pair: Pair, name: str) -> list[Any]:  # noqa: ARG001 - 2.0.0 has entries of two kinds
    """Return the newest entries of a window."""
    return pair.window.newest(version.rules.pay.window).tolist()


def pay_basis(
    version: Ruled,  # noqa: ARG001 - 2.0.0 looks at all of it
    state: State,  # noqa: ARG001
    epoch: int,  # noqa: ARG001
    hotkeys: Iterable[str],  # noqa: ARG001
) -> PayBasis:
    """Return what decides a vector of these hotkeys besides windows and standing: nothing before 2.0.0."""
    return NO_BASIS
