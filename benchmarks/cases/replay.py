"""Rounds computed again from a store: in one process on its own clock, and by two processes on the wall's."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from harness import Case, per_second
from samples.played import ROUNDS, played

from validator.audit.replay import replay_rounds
from validator.audit.replay.many import Replayer

_TIMES: Final = 8


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
    yield Case(
        "rounds replayed by two processes",
        "rounds/s",
        partial(_rate, url, 2),
        partial(_rate, url, 1),
        "one process, wall clock",
        "ratio near 2",
        runs=3,
        warm_up=0,
    )


def _rate(url: str, jobs: int) -> float:
    ids = [*range(ROUNDS)] * _TIMES
    began = time.perf_counter()
    done = sum(1 for _ in replay_rounds(url, ids, jobs))
    return done / (time.perf_counter() - began)
