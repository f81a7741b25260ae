"""A store in which the windows of many miners are full, and the metagraph that they are registered in."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

import msgspec
from random_rounds import crowded

from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot, RoundInput, RoundPlan
from validator.scoring import CURRENT, version
from validator.store import open_store

_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_VERSION: Final = version(CURRENT)
TYPES: Final = tuple(map(str, _VERSION.rules.types))
WINDOW: Final = _VERSION.rules.pay.window


def fill(path: Path, miners: int) -> tuple[str, MetagraphSnapshot]:
    """Make such a store where there is none; return its url and the metagraph.

    It has one round without tasks, in which everybody declared every type.
    """
    url = f"sqlite:///{path}"
    crowd, _, _ = crowded(miners, _VERSION, new=False)
    frozen = msgspec.structs.replace(crowd, tasks=())
    asyncio.run(_one_round(url, frozen))
    names = [neuron.hotkey for neuron in frozen.snapshot.neurons]
    sequence = count()
    entries = (
        (name, kind, frozen.index, f"{n}", next(sequence), (n * 7 % 10) / 10)
        for n in range(WINDOW)
        for name in names
        for kind in TYPES
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "INSERT INTO window_entries (hotkey, skill_type, round_id, task_id, sequence, value)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            entries,
        )
        connection.commit()
    return url, frozen.snapshot


async def _one_round(url: str, frozen: RoundInput) -> None:
    async with open_store(url, create=True) as store, store.begin() as tx:
        await tx.miners.seen(frozen.snapshot)
        await tx.rounds.open(frozen, RoundPlan(frozen.round_id, ()), _BEGAN)
        await tx.rounds.settle(frozen.index, "void", Reason.VOID_OFFLINE, None, _BEGAN)
