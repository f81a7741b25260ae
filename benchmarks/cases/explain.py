"""Benchmark of `validator explain`, for a round and for a miner, in stores with little and with much history.

The round is a real one that is played on top of EXPLAIN=500,10000 rounds. All of it as CPU: by the library next to the
round's bare rows, by the command of a whole process next to Python's own start.
"""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from cli_store import write_config
from harness import Case
from samples.aged_store import age
from samples.commands import PROGRAM, PYTHON, command_cpu_s
from samples.played_rounds import play
from world import miner_signer

from validator.audit.explain.miner import explain_miner
from validator.audit.explain.round_explanation import explain_round
from validator.store import Transaction, open_store

MINERS: Final = [miner_signer(number).hotkey for number in range(6)]
_WHO: Final = MINERS[0]
_LAST: Final = 10
_TABLES: Final = ("tasks", "dispatches", "records", "state_miners")


def cases() -> Iterator[Case]:
    """Yield a young store and an old one: they take the same."""
    with tempfile.TemporaryDirectory(prefix="explained") as name:
        for rounds in map(int, os.environ.get("EXPLAIN", "500,10000").split(",")):
            folder = Path(name) / str(rounds)
            folder.mkdir()
            path = folder / "store.sqlite"
            url = age(path, rounds, MINERS)
            asyncio.run(play(url, 1))
            yield from _library(url, path, rounds)
            arguments = ("explain", _WHO, "--round", str(rounds), "--config", str(write_config(folder, url)))
            yield Case(
                f"`explain MINER --round N`, whole process, {rounds:,} rounds",
                "s",
                partial(command_cpu_s, (*PROGRAM, *arguments)),
                partial(command_cpu_s, PYTHON),
                "`python -c pass`",
                "flat",
                runs=3,
                warm_up=0,
            )


def _library(url: str, path: Path, rounds: int) -> Iterator[Case]:
    questions: dict[str, Callable[[Transaction], Any]] = {
        "a round explained to one miner": lambda tx: explain_round(tx, rounds, _WHO),
        f"a miner's last {_LAST} rounds": lambda tx: explain_miner(tx, _WHO, _LAST, datetime(2026, 1, 2, tzinfo=UTC)),
    }
    for what, ask in questions.items():
        yield Case(
            f"{what}, {rounds:,} rounds",
            "ms",
            partial(_query_ms, url, ask),
            partial(_bare, path, rounds),
            "the round's bare rows",
            "flat",
            runs=5,
        )


def _query_ms(url: str, ask: Callable[[Transaction], Any]) -> float:
    """Return the milliseconds of one answer; the connection is open."""
    return 1e3 * asyncio.run(_seconds(url, ask))


async def _seconds(url: str, ask: Callable[[Transaction], Any]) -> float:
    async with open_store(url) as store:
        took = []
        for _ in range(3):
            began = time.process_time()
            async with store.read() as tx:
                await ask(tx)
            took.append(time.process_time() - began)
    return min(took)


def _bare(path: Path, round_id: int) -> float:
    with closing(sqlite3.connect(path)) as connection:
        began = time.process_time()
        for table in _TABLES:
            connection.execute(f"SELECT * FROM {table} WHERE round_id = ?", (round_id,)).fetchall()
        return 1e3 * (time.process_time() - began)
