"""What a subnet makes of its validators' rows: the stake-weighted median clips each, as Yuma consensus does. Pure."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final

KAPPA: Final = 32_767 / 65_535
"""Share of stake that must stand behind a weight: subtensor's default, a hair under one half."""


def incentives(
    rows: Mapping[int, Mapping[int, float]], stakes: Mapping[int, float], kappa: float = KAPPA
) -> Mapping[int, float]:
    """Return each target's share of what is paid, by uid, without those that get nothing.

    No validator can give a target more than the median of all gives it: what a row has above that is cut off. What is
    left is summed by stake, and the sums are shared out anew. Bonds are not part of it: they share out what validators
    earn, not miners.

    Args:
        rows: by validator's uid, the weights of its row, not negative; their scale does not matter.
        stakes: of those validators, not negative.
        kappa: share of stake that must stand behind a weight, from 0 to 1.
    """
    total = fsum(stakes[uid] for uid, row in rows.items() if fsum(row.values()) > 0)
    if total <= 0:
        return {}
    shares = [
        (stakes[uid] / total, {target: weight / fsum(row.values()) for target, weight in row.items()})
        for uid, row in rows.items()
        if fsum(row.values()) > 0 and stakes[uid] > 0
    ]
    ranks = {}
    for target in sorted({target for _, row in shares for target in row}):
        given = [row.get(target, 0.0) for _, row in shares]
        most = weighted_median(given, [stake for stake, _ in shares], kappa)
        ranks[target] = fsum(stake * min(value, most) for value, (stake, _) in zip(given, shares, strict=True))
    paid = fsum(ranks.values())
    return {target: rank / paid for target, rank in ranks.items() if rank > 0}


def weighted_median(values: Sequence[float], stakes: Sequence[float], kappa: float = KAPPA) -> float:
    """Return the value up to which more than 1 - kappa of the stake lies, and below which no more than that does.

    Args:
        values: one per stake, at least one.
        stakes: shares, positive, summing to 1.
        kappa: as for `incentives`.
    """
    ordered = sorted(zip(values, stakes, strict=True))
    minority, passed = 1.0 - kappa, 0.0
    for value, stake in ordered:
        passed += stake
        if passed > minority:
            return value
    return ordered[-1][0]
