"""Score windows to a capped weight vector: only miners that could be drawn are paid (SPEC 11; D-23, D-24)."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from sssa.protocol.arithmetic import mean
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import KINDS, WINDOW_TYPES, Kind, SkillType, types_of
from sssa.scoring.scoring_types import NO_BASIS, MinerStanding, PayBasis, TypeStanding, WeightPlan
from sssa.scoring.v1.groups import fails_too_often
from sssa.scoring.v1.rules import Ruled
from sssa.state.mechanism_state import Pair, State

Windows = Mapping[str, Mapping[str, Sequence[float]]]
Standing = Mapping[str, MinerStanding]
NOBODY: Final[Standing] = MappingProxyType({})

_ASSESSMENTS: Final = types_of(KINDS[:1])
_WORKFLOW: Final = str(SkillType.WORKFLOW)
_UNKNOWN: Final = MinerStanding()


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


def unpaid_reason(version: Ruled, flags: int, standing: TypeStanding | None) -> Reason | None:
    """Return why a window does not pay, None if it does: the first of D-23 that holds.

    Args:
        version: whose limits count.
        flags: the miner's standing collusion flags, of all types.
        standing: the miner's for the window's type; None is undeclared.
    """
    if flags >= version.rules.groups.ejecting_flags:
        return Reason.COLLUSION_FLAGS
    if standing is None or not standing.declared:
        return Reason.UNDECLARED
    if standing.reputation < version.rules.reputation.floor:
        return Reason.LOW_REPUTATION
    if fails_too_often(version, standing.dispatches, standing.failures):
        return Reason.FAILURE_RATE
    if not standing.proven:
        return Reason.UNPROVEN
    return Reason.EXECUTION if standing.execution_fails >= version.rules.execution.unpaid_fails else None


def mechanism_weights(
    version: Ruled,
    windows: Windows,
    kinds: Collection[Kind] = KINDS,
    standing: Standing = NOBODY,
    basis: PayBasis = NO_BASIS,  # noqa: ARG001 - 2.0.0 looks at more
) -> WeightPlan:
    """Return scores and capped weights of one mechanism (SPEC 11; SPEC 11, D-23, D-24).

    A mechanism of both kinds pays the workflows a share that grows with the miners that prove themselves in them; a
    mechanism of one kind pays by that kind's scores alone. The cap comes last.

    Args:
        version: whose numbers count.
        windows: {hotkey: {skill_type: entries, oldest first}} of the registered miners.
        kinds: what the mechanism pays for.
        standing: of the miners; one that is missing has declared nothing.
        basis: what 2.0.0 looks at.
    """
    types = types_of(kinds)
    ours = {hotkey: {name: of[name] for name in of if name in types} for hotkey, of in windows.items()}
    unpaid = unpaid_windows(version, ours, standing)
    paid = {
        hotkey: {name: entries for name, entries in of.items() if name not in unpaid.get(hotkey, ())}
        for hotkey, of in ours.items()
    }
    assessed = {hotkey: miner_score(version, of, _ASSESSMENTS) for hotkey, of in paid.items()}
    planned = {hotkey: miner_score(version, of, (_WORKFLOW,)) for hotkey, of in paid.items()}
    plan = kind_weights(version, kinds, assessed, planned, workflow_share(version, paid, planned))
    return plan._replace(assessments=assessed, workflows=planned, unpaid=unpaid)


def kind_weights(
    version: Ruled,
    kinds: Collection[Kind],
    assessed: Mapping[str, float],
    planned: Mapping[str, float],
    share: float,
) -> WeightPlan:
    """Return scores and weights from scores of each kind (D-24).

    Args:
        version: whose numbers count.
        kinds: what the mechanism pays for.
        assessed: hotkey to score of assessments.
        planned: hotkey to score of workflows, of the same miners.
        share: of the workflows, from `share_of`.
    """
    if len(kinds) > 1:
        return plan_weights(version, mixed(assessed, planned, share))._replace(workflow_share=share)
    return plan_weights(version, dict(planned if "workflows" in kinds else assessed))


def unpaid_windows(
    version: Ruled, windows: Mapping[str, Mapping[str, Sequence[Any]]], standing: Standing
) -> dict[str, dict[str, str]]:
    """Return {hotkey: {skill_type: reason code}} of the windows with entries that do not pay (D-23)."""
    reasons: dict[str, dict[str, str]] = {}
    for hotkey, of_types in windows.items():
        miner = standing.get(hotkey, _UNKNOWN)
        for name, entries in of_types.items():
            reason = unpaid_reason(version, miner.collusion_flags, miner.types.get(name)) if entries else None
            if reason is not None:
                reasons.setdefault(hotkey, {})[name] = str(reason)
    return reasons


def workflow_share(version: Ruled, paid: Windows, planned: Mapping[str, float]) -> float:
    """Return s, the workflows' share: whole once enough miners have a full, positive window of them (D-24).

    Args:
        version: whose share it is.
        paid: the windows that pay.
        planned: hotkey to workflow score.
    """
    warm = version.rules.pay.warm_up
    full = sum(score > 0 and len(paid[hotkey].get(_WORKFLOW, ())) >= warm for hotkey, score in planned.items())
    return share_of(version, full)


def share_of(version: Ruled, full: int) -> float:
    """Return the workflows' share where so many miners have a full, positive window of them (D-24)."""
    pay = version.rules.pay
    return pay.workflow_part * min(1.0, full / pay.full_share_miners)


def mixed(assessed: Mapping[str, float], planned: Mapping[str, float], share: float) -> dict[str, float]:
    """Return shares of two kinds of scores of the same miners, `share` for the second; all for one without the other.

    Without any score the result is 0 for everybody.
    """
    of_assessments, of_workflows = math.fsum(assessed.values()), math.fsum(planned.values())
    if not of_assessments or not of_workflows:
        total = of_assessments or of_workflows or 1.0
        scores = assessed if of_assessments else planned
        return {hotkey: score / total for hotkey, score in scores.items()}
    return {
        hotkey: (1.0 - share) * (score / of_assessments) + share * (planned[hotkey] / of_workflows)
        for hotkey, score in assessed.items()
    }


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
        remainder = 1.0 - cap * len(capped)
        weights = {hotkey: cap if hotkey in capped else remainder * score / total for hotkey, score in scores.items()}
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
