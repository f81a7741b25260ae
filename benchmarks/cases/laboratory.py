"""Benchmark of the laboratory's rounds, and of rounds of 2.0.0 next to 1.0.0, with and without their store."""

import asyncio
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Final

import structlog
from harness import Case, microseconds
from msgspec import structs
from samples.whole_rounds import computed_ms

from laboratory.network import Network
from laboratory.population import population_of
from sssa.scoring import FindingKeys, plan_round, score_round
from sssa.state.mechanism_state import State
from sssa.state.round_end import Ended, apply

_ROUNDS: Final = 30  # before what is measured: kinds of faults count from about the tenth on
_MINERS: Final = (64, 256)
_IN_TURN: Final = 8


def cases() -> Iterator[Case]:
    """Yield whole rounds and their three functions, of each number of miners."""
    for miners in _MINERS:
        one, other = _network(miners, "2.0.0"), _network(miners, "1.0.0")
        yield Case(
            f"a simulated round of 12 tasks, {miners} miners, 2.0.0",
            "rounds/s",
            partial(_played, one),
            partial(_played, other),
            "the same under 1.0.0",
            "≥ 40" if miners == _MINERS[0] else "",
            runs=5,
        )
        yield Case(
            f"plan, score and step of a round, {miners} miners, 2.0.0",
            "ms",
            _computed(one),
            _computed(other),
            "the same under 1.0.0",
        )
    yield Case(
        "plan, score and settling of a daemon's round with planted tasks, 64 miners, SQLite, 2.0.0",
        "ms",
        partial(_settled, "2.0.0"),
        partial(_settled, "1.0.0"),
        "the same under 1.0.0",
        "ratio ≤ 1.3",
        runs=2,
        warm_up=0,
    )


def _settled(version: str) -> float:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory(prefix="settled") as folder:
        url = f"sqlite:///{folder}/store.sqlite"
        return median(asyncio.run(computed_ms(url, version, _MINERS[0], rounds=10, before=14)))


def _network(miners: int, version: str) -> Network:
    crowd = {"name": "honest", "behaviour": "honest", "count": miners, "skill": [0.3, 0.9], "tool": "open"}
    network = Network(population_of({"version": version, "miners": [crowd]}))
    for _ in range(_ROUNDS):
        network.play()
    return network


def _played(network: Network, rounds: int = 20) -> float:
    start = time.process_time()
    for _ in range(rounds):
        network.play()
    return rounds / (time.process_time() - start)


def _computed(network: Network) -> Callable[[], float]:
    """Return what times rounds one after the other: nothing that a version keeps of a round serves it twice."""
    version, rounds = network.version, []
    for _ in range(_IN_TURN):
        before, played = network.state, network.play()
        rounds.append((before, played))

    def compute() -> State:
        for before, played in rounds:
            plan = plan_round(version, played.frozen)
            outcome = score_round(version, played.frozen, plan, played.results, FindingKeys())
            after = apply(before, version.step(before, Ended(played.frozen, plan, "settled", outcome)))
        return after

    if structs.asdict(compute()) != structs.asdict(network.state):
        raise RuntimeError("the rounds are others")
    each = microseconds(compute, of=_IN_TURN, clock=time.process_time)
    return lambda: each() / 1_000
