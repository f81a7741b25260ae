"""Benchmark of replay: rounds computed again from a store, in one process and by two."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from harness import Case, per_second
from samples.played_rounds import ROUNDS, played
from samples.processes import cpu_s

from validator.audit.replay.batches import Replayer, replay_rounds

_TIMES: Final = 12


def cases() -> Iterator[Case]:
    """Yield the rate of one process, and what a second one adds."""
    url = played()
    with Replayer(url) as replayer:
        yield Case(
            "rounds replayed, 60 answers each",
            "rounds/s",
            per_second(partial(replayer.replays, range(ROUNDS)), of=ROUNDS, clock=time.process_time),
            demand="≥ 30",
            runs=5,
        )
    for clock, name, demand in (
        (cpu_s, "CPU, start and end with it", "ratio near 1"),
        (time.perf_counter, "wall clock", "ratio near 2"),
    ):
        yield Case(
            f"rounds replayed by two processes, {name}",
            "rounds/s",
            partial(_rate, url, 2, clock),
            partial(_rate, url, 1, clock),
            "one process",
            demand,
            runs=3,
            warm_up=0,
        )


def _rate(url: str, jobs: int, clock: Callable[[], float]) -> float:
    ids = [*range(ROUNDS)] * _TIMES
    began = clock()
    done = sum(1 for _ in replay_rounds(url, ids, jobs))
    return done / (clock() - began)
