"""Relative weights to what the chain stores."""

from collections.abc import Mapping
from math import isfinite
from typing import Final

from validator.chain.base import ChainError

U16_MAX: Final = 65_535


def to_u16(weights: Mapping[int, float]) -> dict[int, int]:
    """Return uid to u16: scaled so that the largest is 65,535, rounded half to even, zeros dropped, by uid.

    Raises:
        ChainError: a weight that is negative or not finite, or a uid outside u16.
    """
    for uid, weight in weights.items():
        if not 0 <= uid <= U16_MAX:
            raise ChainError(f"uid {uid} is not from 0 to {U16_MAX}")
        if not (isfinite(weight) and weight >= 0):
            raise ChainError(f"the weight of uid {uid} is {weight}, not a finite number from 0")
    top = max(weights.values(), default=0)
    if top == 0:
        return {}
    scaled = {uid: round(weights[uid] / top * U16_MAX) for uid in sorted(weights)}
    return {uid: value for uid, value in scaled.items() if value}
