"""Score windows to weights under 1.1.0: only miners that could be drawn are paid (SPEC 16, D-23, D-24)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from validator.protocol.reasons import Reason
from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.scoring.constants import Ruled
from validator.scoring.v1_0.groups import fails_too_often
from validator.scoring.v1_0.weights import NOBODY, Standing, Windows, miner_score, plan_weights
from validator.scoring.values import NO_BASIS, MinerStanding, PayBasis, Share, TypeStanding, WeightPlan

_ASSESSMENTS: Final = tuple(map(str, ASSESSED_TYPES))
_WORKFLOW: Final = str(SkillType.WORKFLOW)
_UNKNOWN: Final = MinerStanding()


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
    kinds: Sequence[Share],
    standing: Standing = NOBODY,
    basis: PayBasis = NO_BASIS,  # noqa: ARG001 - 2.0.0 looks at more
) -> WeightPlan:
    """Return scores and capped weights of one mechanism (SPEC 11; SPEC 16, D-23, D-24).

    A mechanism of both kinds pays the workflows a share that grows with the miners that prove themselves in them; a
    mechanism of one kind pays by that kind's scores alone. The cap comes last.

    Args:
        version: whose shares count; those of `kinds` do not.
        windows: {hotkey: {skill_type: entries, oldest first}} of the registered miners.
        kinds: what the mechanism pays for.
        standing: of the miners; one that is missing has declared nothing.
        basis: what later versions look at.
    """
    types = {name for kind in kinds for name in kind.types}
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
    kinds: Sequence[Share],
    assessed: Mapping[str, float],
    planned: Mapping[str, float],
    share: float,
) -> WeightPlan:
    """Return scores and weights from scores of each kind (SPEC 16, D-24); arguments as in 1.0.0."""
    types = {name for kind in kinds for name in kind.types}
    if _WORKFLOW not in types:
        scores = dict(assessed)
    elif types == {_WORKFLOW}:
        scores = dict(planned)
    else:
        scores = mixed(assessed, planned, share)
    return plan_weights(version, scores)


def unpaid_windows(
    version: Ruled, windows: Mapping[str, Mapping[str, Sequence[Any]]], standing: Standing
) -> dict[str, dict[str, str]]:
    """Return {hotkey: {skill_type: reason code}} of the windows with entries that do not pay (D-23)."""
    found: dict[str, dict[str, str]] = {}
    for hotkey, of_types in windows.items():
        stands = standing.get(hotkey, _UNKNOWN)
        for name, entries in of_types.items():
            reason = unpaid_reason(version, stands.collusion_flags, stands.types.get(name)) if entries else None
            if reason is not None:
                found.setdefault(hotkey, {})[name] = str(reason)
    return found


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
