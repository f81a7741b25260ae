"""Benchmark of many calls at once, compared with bare aiohttp's, which neither signs nor bounds nor stores.

Calls alone, by the client; and dispatches, as a round sends them: marked, signed, sent, and each answer stored. The
memory that the most at once take is measured in its own process.
"""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final

from harness import Case
from samples import open_calls
from samples.calls import Turn, axons, bare, ours
from samples.dispatched_rounds import dispatched
from samples.stand_in import many_descriptors

_RUNS: Final = {60: 15, 300: 7, 1_000: 5, 5_000: 3}
_DEMANDS: Final = {60: "ratio ≥ 0.85", 1_000: "ratio ≥ 0.75"}
_FRESH: Final = "bare aiohttp, fresh connections"


class _Turns:
    """Turns of one kind, each played when its rate is asked for; what else they took is asked for afterwards."""

    def __init__(self, play: Callable[[], Coroutine[Any, Any, Turn]]) -> None:
        self._play = play
        self._played: list[Turn] = []

    def rate(self) -> float:
        """Return that of a turn played now."""
        self._played.append(asyncio.run(self._play()))
        return self._played[-1].rate

    def again(self, figure: str, runs: int) -> Callable[[], float]:
        """Return what gives another figure of so many turns that were played last, one after the other."""
        figures = iter(range(-runs, 0))
        return lambda: float(getattr(self._played[next(figures)], figure))


def cases(runs: Mapping[int, int] = _RUNS) -> Iterator[Case]:
    """Yield rates, CPU, what the wall clock shows beyond the slowest answer, and memory and lag of the most at once."""
    many_descriptors()
    axons()
    for many, often in runs.items():
        yield from _compared(f"{many:,} calls", partial(ours, many), many, often, _DEMANDS.get(many, ""))
        yield from _compared(f"{many:,} dispatches, marked and stored", partial(dispatched, many), many, often)
        yield Case(
            f"{many:,} calls, {_FRESH}",
            "/s",
            _Turns(partial(bare, many)).rate,
            _Turns(partial(bare, many, keep=True)).rate,
            "over kept ones",
            runs=often,
        )
    yield from _in_flight(max(runs))


def _compared(
    what: str, play: Callable[[], Coroutine[Any, Any, Turn]], many: int, runs: int, demand: str = ""
) -> Iterator[Case]:
    own, fresh = _Turns(play), _Turns(partial(bare, many))
    yield Case(what, "/s", own.rate, fresh.rate, _FRESH, demand, runs)
    for figure, unit, of in (("cpu_us", "µs", "CPU of each"), ("beyond_ms", "ms", "beyond the slowest answer")):
        taken, floor = own.again(figure, runs), fresh.again(figure, runs)
        yield Case(f"{what}: {of}", unit, taken, floor, _FRESH, runs=runs, warm_up=0)


def _in_flight(many: int) -> Iterator[Case]:
    what = f"{many:,} dispatches in flight, all stored"
    for place, name, unit, demand in (
        (0, "peak of the process", "MB", "< 400"),
        (1, "p99 of the loop's lag", "ms", ""),
    ):
        yield Case(
            f"{what}: {name}",
            unit,
            partial(_flight, "dispatched", many, place),
            partial(_flight, "bare", many, place),
            _FRESH,
            demand,
            runs=1,
            warm_up=0,
        )


def _flight(run: str, many: int, place: int) -> float:
    return _flights(run, many)[place]


@cache
def _flights(run: str, many: int) -> tuple[float, ...]:
    done = subprocess.run([sys.executable, open_calls.__file__, run, str(many)], stdout=subprocess.PIPE, check=True)
    return tuple(map(float, done.stdout.split()))
