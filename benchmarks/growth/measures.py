"""Measured quantities of `make bench-growth` at a few sizes; each figure is the least of a few runs."""

import asyncio
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from cases.history import MINERS, seconds_of_reading
from cases.settle import settled_ms
from random_rounds import crowded
from samples.aged_store import age, hotkey
from samples.full_windows import fill
from samples.group import answers, bodies
from samples.scored_group import SCORED_BY, from_bytes

from validator.protocol.canonical import canonical_bytes
from validator.scoring import plan_round, score_round

ROUNDS_A_DAY: Final = 144  # one in ten minutes
_RUNS: Final = 3
_MIB: Final = 2**20


def by_miners(sizes: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield what a round and the end of an epoch take with so many miners; twelve tasks, five answers each."""
    for miners in sizes:
        frozen, _, results = crowded(miners, SCORED_BY, new=False)

        def whole() -> object:
            return score_round(SCORED_BY, frozen, plan_round(SCORED_BY, frozen), results)  # noqa: B023 - called at once

        with tempfile.TemporaryDirectory(prefix="growth") as folder:
            url, snapshot = fill(Path(folder) / "store.sqlite", miners)
            settled = min(settled_ms(url, snapshot) for _ in range(_RUNS))
        yield (
            miners,
            {
                "plan and score a round, ms": 1e3 * _least(whole),
                "settle an epoch, ms": settled,
                "memory of planning and scoring, MiB": _memory(whole),
                "input as stored before packing, KiB": len(canonical_bytes(frozen)) / 1024,
            },
        )


def by_findings(sizes: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield what a group of five answers with so many findings each takes, from bytes to agreements."""
    for findings in sizes:
        data = bodies(answers(findings))
        yield (
            findings,
            {
                "read and compare a group, ms": 1e3 * _least(lambda: from_bytes(data)),  # noqa: B023 - called at once
                "memory of it, MiB": _memory(lambda: from_bytes(data)),  # noqa: B023 - called at once
                "an answer, KiB": len(data[0]) / 1024,
            },
        )


def by_days(sizes: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield what so many days of rounds leave in the tables that a new round reads, and what reading them takes."""
    for days in sizes:
        with tempfile.TemporaryDirectory(prefix="growth") as folder:
            path = Path(folder) / "store.sqlite"
            rounds = days * ROUNDS_A_DAY
            url = age(path, rounds, [hotkey(number) for number in range(MINERS)])
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("VACUUM")
            yield (
                days,
                {
                    "open a round, ms": 1e3 * min(_opened_s(url, rounds) for _ in range(_RUNS)),
                    "rows without documents, MiB": path.stat().st_size / _MIB,
                },
            )


def _opened_s(url: str, rounds: int) -> float:
    return asyncio.run(seconds_of_reading(url, rounds, time.process_time))


def _least(work: Callable[[], object]) -> float:
    took = []
    for _ in range(_RUNS):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


def _memory(work: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / _MIB
    finally:
        tracemalloc.stop()
