"""TAO in whole rao, so that three steps of 0.1 fit a budget of 0.3 (SPEC 16, D-32)."""

from collections.abc import Iterable
from typing import Final

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
