"""Benchmark of a whole round: groups and scores next to the draws no plan can leave out, and all in real time.

The draws are those for its auditors. In real time twelve tasks go to five miners each over HTTP, everything on: what
counts is how long the round takes next to its slowest answer, and how late timers of the event loop come meanwhile.
"""

import asyncio
import logging
import tempfile
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Final

import structlog
from harness import Case, per_second
from random_rounds import crowded
from samples.postgres import postgres
from samples.whole_rounds import WholeRounds, whole_rounds

from sssa.protocol.draws import draws_of
from sssa.protocol.results import RoundResults
from sssa.protocol.round import RoundInput, RoundPlan
from sssa.scoring import CURRENT, plan_round, score_round, version

_SCORED_BY: Final = version(CURRENT)
_DEMANDS: Final = {64: "≥ 150", 256: "≥ 80"}
_TURNS: Final = 3
_ROUNDS: Final = 7
_DELAY_S: Final = 1.0  # of every answer


def cases() -> Iterator[Case]:
    """Yield rounds in which most reputations differ, and rounds of miners that are all new."""
    for miners, demand in _DEMANDS.items():
        for standing, new in (("reputations differ", False), ("all new", True)):
            frozen, plan, results = crowded(miners, _SCORED_BY, new=new)
            yield Case(
                f"plan and score, 12 tasks, {miners} miners, {standing}",
                "rounds/s",
                per_second(partial(_whole, frozen, plan, results)),
                per_second(partial(_drawn, frozen, plan)),
                "the auditors' draws alone",
                demand,
            )

    with tempfile.TemporaryDirectory(prefix="round") as folder:
        yield from _in_real_time("SQLite", f"sqlite:///{folder}/store.sqlite")
    with postgres() as url:
        yield from _in_real_time("Postgres", url)


def _in_real_time(database: str, url: str) -> Iterator[Case]:
    played: list[WholeRounds] = []

    def beyond() -> float:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
        played.append(asyncio.run(whole_rounds(url, _ROUNDS, _DELAY_S)))
        return median(played[-1].beyond_ms)

    what = f"12 tasks for 5 miners over HTTP, {database}"
    yield Case(f"{what}: beyond the slowest answer", "ms", beyond, demand="≤ 250", runs=_TURNS, warm_up=0)
    lags = iter(range(_TURNS))
    yield Case(
        f"{what}: p99 of the loop's lag",
        "ms",
        lambda: played[next(lags)].lag_ms,
        demand="< 50",
        runs=_TURNS,
        warm_up=0,
    )


def _whole(frozen: RoundInput, plan: RoundPlan, results: RoundResults) -> object:
    if plan_round(_SCORED_BY, frozen) != plan:
        raise RuntimeError("the plan is another one")
    return score_round(_SCORED_BY, frozen, plan, results)


def _drawn(frozen: RoundInput, plan: RoundPlan) -> object:
    seed = bytes.fromhex(frozen.seed)
    pools = [
        (draws_of(seed, "auditor", frozen.round_id, group.task_id), {*group.primaries, *group.excluded})
        for group in plan.groups
    ]
    return [draw(miner.hotkey) for draw, others in pools for miner in frozen.miners if miner.hotkey not in others]
