"""Clocks: from work to figures. By default the thread's own: what else the machine does then costs the least."""

import time
from collections.abc import Callable

_LEAST_S = 0.05


def per_second(
    work: Callable[[], object], *, of: int = 1, clock: Callable[[], float] = time.thread_time
) -> Callable[[], float]:
    """Return what says how many things a second `work` does, which does `of` of them at once."""

    def run() -> float:
        done, batch, began = 0, 1, clock()
        while True:
            for _ in range(batch):
                work()
            done += batch
            batch *= 2
            took = clock() - began
            if took >= _LEAST_S:
                return of * done / took

    return run


def microseconds(
    work: Callable[[], object], *, of: int = 1, clock: Callable[[], float] = time.thread_time
) -> Callable[[], float]:
    """Return what says how many microseconds one of the `of` things takes that `work` does."""
    rate = per_second(work, of=of, clock=clock)
    return lambda: 1e6 / rate()
