"""Benchmark of an epoch's end with full windows: the vector and its receipt, not sent; SETTLE=64,256,1024 miners."""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import msgspec
from harness import Case
from samples.full_windows import TYPES, WINDOW, fill
from world import VALIDATOR

from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.skill_types import Kind
from sssa.sources import SeededRandom, VirtualClock
from validator.settings.model import WeightsSettings
from validator.store import open_store
from validator.store.vector_inputs import basis_of
from validator.weights.plan import mechanisms, plan_vector
from validator.weights.submission import WeightsLog

_NETUID: Final = 1
_EPOCHS: Final = count(1)  # what an epoch was told is not told it again


def cases() -> Iterator[Case]:
    """Yield an epoch's end by the number of miners: it grows with them and with nothing else."""
    with tempfile.TemporaryDirectory(prefix="full") as folder:
        for miners in map(int, os.environ.get("SETTLE", "64,256,1024").split(",")):
            path = Path(folder) / f"{miners}.sqlite"
            url, snapshot = fill(path, miners)
            yield Case(
                f"vector and receipt, {miners:,} miners, {len(TYPES)} windows of {WINDOW} each",
                "ms",
                partial(settled_ms, url, snapshot),
                partial(_bare, path),
                "the windows' bare rows",
                "linear",
                runs=5,
            )


def settled_ms(url: str, snapshot: MetagraphSnapshot) -> float:
    """Return the milliseconds of one epoch's end, CPU of this process."""
    ending = msgspec.structs.replace(snapshot, epoch=snapshot.epoch + next(_EPOCHS))
    ((mechid, kinds),) = mechanisms(WeightsSettings(assessment_mechid=0, workflow_mechid=0)).items()
    return 1e3 * asyncio.run(_seconds(url, ending, mechid, kinds))


async def _seconds(url: str, snapshot: MetagraphSnapshot, mechid: int, kinds: tuple[Kind, ...]) -> float:
    log = WeightsLog(VALIDATOR, VirtualClock(), SeededRandom("settle"), _NETUID, mechid, kinds)
    async with open_store(url, writer=True) as store:
        began = time.process_time()
        async with store.begin() as tx:
            basis = await basis_of(tx, _NETUID, mechid, snapshot.epoch, snapshot.block)
            vector = plan_vector(basis, snapshot, VALIDATOR.hotkey, kinds)
            if not vector.positive or await log.vector(tx, snapshot, basis, vector, None) is None:
                raise RuntimeError("nobody is paid, or nothing was logged")
        return time.process_time() - began


def _bare(path: Path) -> float:
    with closing(sqlite3.connect(path)) as connection:
        began = time.process_time()
        connection.execute("SELECT hotkey, miner FROM state_miners ORDER BY hotkey").fetchall()
        return 1e3 * (time.process_time() - began)
