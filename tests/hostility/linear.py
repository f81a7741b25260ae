"""Check for linear cost: twice the input takes at most twice the CPU time, with a margin."""

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
    twice = shape(2 * size)
    dear = _cost(run, twice)
    if dear < _TELLING_S:
        return
    once = shape(size)
    ratios = []
    for _ in range(_ATTEMPTS):
        cheap = _cost(run, once)
        if dear > _MOST * cheap:  # a second look can but lower it
            dear, cheap = min(dear, _cost(run, twice)), max(cheap, _cost(run, once))
        ratios.append(dear / cheap)
        if ratios[-1] <= _MOST:
            return
        dear = _cost(run, twice)
    raise AssertionError(f"twice {size} bytes cost {min(ratios):.1f} times as much")


def _cost(run: Callable[[T], object], data: T) -> float:
    gc.disable()  # it would search all that other tests left behind
    try:
        start = time.process_time()
        run(data)
        return time.process_time() - start
    finally:
        gc.enable()
