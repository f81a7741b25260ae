"""The one way to take a mean (SPEC, words): `math.fsum(xs) / n`."""

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Return `fsum(values) / n`; `values` must not be empty."""
    return math.fsum(values) / len(values)
