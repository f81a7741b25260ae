"""Means, and TAO in whole rao: sums on which every validator must agree to the bit (SPEC, words; SPEC 12, D-32)."""

import math
from collections.abc import Iterable, Sequence
from typing import Final


def cut(x: float, low: float, high: float) -> float:
    """Return `x` within the bounds."""
    return min(high, max(low, x))


def mean(values: Sequence[float]) -> float:
    """Return `fsum(values) / n`; `values` must not be empty."""
    return math.fsum(values) / len(values)


RAO: Final = 1_000_000_000
"""Rao in a TAO."""


def to_rao(amount: float) -> int:
    """Return an amount of TAO in rao, rounded half to even."""
    return round(amount * RAO)


def whole(amount: float) -> float:
    """Return an amount of TAO that is a whole number of rao."""
    return to_rao(amount) / RAO


def total(amounts: Iterable[float]) -> float:
    """Return the sum of amounts of TAO, each rounded to whole rao, exact to the rao."""
    return sum(map(to_rao, amounts)) / RAO
