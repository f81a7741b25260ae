"""Arithmetic of the soak's report: slopes with their confidence, quantiles of samples and of histograms. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_Z = 1.96  # of a confidence of 95 %


class Slope(NamedTuple):
    """Growth rate per unit of the abscissa, with its bounds at 95 % confidence."""

    value: float
    low: float
    high: float


def slope(points: Sequence[tuple[float, float]]) -> Slope | None:
    """Return the median of the slopes between all pairs of points (Theil and Sen); None for fewer than three points.

    The bounds are those of Sen. They take the points as independent: memory is not, so they are rather too narrow.

    Args:
        points: (x, y), no two with the same x.
    """
    ordered = sorted(points)
    if len(ordered) < 3:  # noqa: PLR2004 - two points have one slope and no confidence
        return None
    slopes = sorted((y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(ordered) for x2, y2 in ordered[i + 1 :])
    many, count = len(ordered), len(slopes)
    spread = _Z * math.sqrt(many * (many - 1) * (2 * many + 5) / 18)
    low, high = math.floor((count - spread) / 2), math.ceil((count + spread) / 2)
    return Slope(statistics.median(slopes), slopes[max(low, 0)], slopes[min(high, count - 1)])


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values lie, between two of them in proportion."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def since(now: Mapping[float, int], before: Mapping[float, int]) -> dict[float, int]:
    """Return a cumulative histogram without what an earlier look at it held (by upper bound)."""
    return {bound: count - before.get(bound, 0) for bound, count in now.items()}


def histogram_quantile(within: Mapping[float, int], share: float) -> float | None:
    """Return about the value below which `share` of a cumulative histogram is; None for an empty one.

    Inside a bucket the values are taken as evenly spread, as Prometheus does; past the last finite bound that bound
    is returned.

    Args:
        within: how many values were at most each upper bound, the last bound is infinite.
        share: 0 to 1.
    """
    bounds = sorted(within)
    if not bounds or not within[bounds[-1]]:
        return None
    wanted = share * within[bounds[-1]]
    bottom, below = 0.0, 0
    for bound in bounds:
        if within[bound] >= wanted and within[bound] > below:
            if math.isinf(bound):
                return bottom
            return bottom + (bound - bottom) * (wanted - below) / (within[bound] - below)
        bottom, below = bound, within[bound]
    return bottom


def worst_bound(within: Mapping[float, int]) -> float | None:
    """Return the smallest upper bound that all values of a cumulative histogram keep; None for an empty one."""
    total = max(within.values(), default=0)
    return min((bound for bound, count in within.items() if count >= total), default=None) if total else None
