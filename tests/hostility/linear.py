"""Whether twice the input costs at most twice the time, with a margin; in CPU time, for busy machines."""

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_MOST = 2.5
_TELLING_S = 0.006  # shorter runs tell nothing: at the sizes used a quadratic cost is far above it
_ATTEMPTS = 4


def assert_linear(run: Callable[[T], object], shape: Callable[[int], T], size: int) -> None:
    """Assert that `run` of twice `size` bytes of the shape costs at most 2.5 times as much as of `size`."""
    once, twice = shape(size), shape(2 * size)
    ratios = []
    for _ in range(_ATTEMPTS):
        dear = _cost(run, twice)
        if dear < _TELLING_S:
            return
        ratios.append(min(dear, _cost(run, twice)) / max(_cost(run, once), _cost(run, once)))
        if ratios[-1] <= _MOST:
            return
    raise AssertionError(f"twice {size} bytes cost {min(ratios):.1f} times as much")


def _cost(run: Callable[[T], object], data: T) -> float:
    gc.disable()  # it would search all that other tests left behind
    try:
        start = time.process_time()
        run(data)
        return time.process_time() - start
    finally:
        gc.enable()
