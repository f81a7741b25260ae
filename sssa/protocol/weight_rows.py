"""Weight vectors as the integers that a chain stores (SPEC 11, D-11), and what a subnet pays by them. Pure."""

from collections.abc import Mapping, Sequence
from math import fsum, isfinite
from typing import Final

from sssa.protocol.errors import ValidatorError

U16_MAX: Final = 65_535


class WeightRowError(ValidatorError):
    """The weights cannot be a row of integers."""


def to_u16(weights: Mapping[int, float]) -> dict[int, int]:
    """Return uid to u16: scaled so that the largest is 65,535, rounded half to even, zeros dropped, by uid.

    Raises:
        WeightRowError: a weight that is negative or not finite, or a uid outside u16.
    """
    for uid, weight in weights.items():
        if not 0 <= uid <= U16_MAX:
            raise WeightRowError(f"uid {uid} is not from 0 to {U16_MAX}")
        if not (isfinite(weight) and weight >= 0):
            raise WeightRowError(f"the weight of uid {uid} is {weight}, not a finite number from 0")
    top = max(weights.values(), default=0)
    if top == 0:
        return {}
    scaled = {uid: round(weights[uid] / top * U16_MAX) for uid in sorted(weights)}
    return {uid: value for uid, value in scaled.items() if value}


# Below this, what the sum of the weights misses of 1 is rounding and nobody's share.
_ROUNDING: Final = 1e-9


def left_over(unallocated: float) -> bool:
    """Return whether the unallocated share is real rather than a rounding remainder."""
    return unallocated > _ROUNDING


def shares_of(
    weights: Mapping[str, float], unallocated: float, uids: Mapping[str, int], owner: int | None
) -> dict[int, float]:
    """Return uid to weight; hotkeys without a uid are dropped.

    Args:
        weights: hotkey to weight.
        unallocated: goes to the owner (D-11).
        uids: hotkey to uid.
        owner: the owner's uid; None: what is left over is dropped.
    """
    sent = {uids[hotkey]: weight for hotkey, weight in weights.items() if hotkey in uids}
    if owner is not None and left_over(unallocated):
        sent[owner] = sent.get(owner, 0.0) + unallocated
    return sent


KAPPA: Final = 32_767 / 65_535
"""Share of stake that must stand behind a weight: subtensor's default, a hair under one half."""


def incentives(rows: Mapping[int, Mapping[int, float]], stakes: Mapping[int, float]) -> Mapping[int, float]:
    """Return each target's share of what is paid, by uid, without those that get nothing.

    No validator can give a target more than the median of all gives it: what a row has above that is cut off. What is
    left is summed by stake, and the sums are shared out anew. Bonds are not part of it: they share out what validators
    earn, not miners.

    Args:
        rows: by validator's uid, the weights of its row, not negative; their scale does not matter.
        stakes: of those validators, not negative.
    """
    agreed = _agreed(rows, stakes)
    ranks = {
        target: fsum(stake * row.get(target, 0.0) for stake, row in agreed.values())
        for target in sorted({target for _, row in agreed.values() for target in row})
    }
    paid = fsum(ranks.values())
    return {target: rank / paid for target, rank in ranks.items() if rank > 0}


def trusts(rows: Mapping[int, Mapping[int, float]], stakes: Mapping[int, float]) -> Mapping[int, float]:
    """Return the share of each validator's row that is not cut off, by uid; arguments as for `incentives`."""
    return {uid: fsum(row.values()) for uid, (_, row) in _agreed(rows, stakes).items()}


def _agreed(
    rows: Mapping[int, Mapping[int, float]], stakes: Mapping[int, float]
) -> Mapping[int, tuple[float, Mapping[int, float]]]:
    """Return each validator's share of stake, and its row with what is above the median of all cut off."""
    sums = {uid: fsum(row.values()) for uid, row in rows.items()}
    total = fsum(stakes[uid] for uid, weight in sums.items() if weight > 0)
    if total <= 0:
        return {}
    shares = {uid: stakes[uid] / total for uid, weight in sums.items() if weight > 0}
    scaled = {uid: {target: weight / sums[uid] for target, weight in rows[uid].items()} for uid in shares}
    most = {
        target: weighted_median([row.get(target, 0.0) for row in scaled.values()], list(shares.values()))
        for target in {target for row in scaled.values() for target in row}
    }
    return {
        uid: (shares[uid], {target: min(weight, most[target]) for target, weight in row.items()})
        for uid, row in scaled.items()
    }


def weighted_median(values: Sequence[float], stakes: Sequence[float], kappa: float = KAPPA) -> float:
    """Return the value up to which more than 1 - kappa of the stake is, and below which no more than that does.

    Args:
        values: one per stake, at least one.
        stakes: shares, not negative, summing to 1.
        kappa: share of stake that must be behind a weight, from 0 to 1.
    """
    ordered = sorted(zip(values, stakes, strict=True))
    minority, passed = 1.0 - kappa, 0.0
    for value, stake in ordered:
        passed += stake
        if passed > minority:
            return value
    return ordered[-1][0]
