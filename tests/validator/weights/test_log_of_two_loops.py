"""Rounds and weights write into one log at the same time: it stays one chain, and a vector follows from it (D-28)."""

import asyncio
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from audit_file import export
from weights_in_log import weights_in_log
from weights_world import NOWHERE
from world import VALIDATOR, World, on_virtual_time, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.sources import SeededRandom
from validator.settings.model import WeightsSettings
from validator.store import Store
from validator.store.repositories.receipts import Receipts
from validator.store.rows import ReceiptRecord
from validator.tasks.source import MemorySource
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.watch import WeightsLock

ROUNDS, TURNS = 12, 20
PAUSE_S = 8.0  # not quite an epoch from round to round: each settles at another moment of one


def service_of(world: World, mechid: int, settings: WeightsSettings, signing: asyncio.Lock) -> WeightService:
    return WeightService(
        store=world.store,
        chain=world.chain,
        clock=world.clock,
        signer=VALIDATOR,
        random=SeededRandom("loops"),
        netuid=1,
        mechid=mechid,
        kinds=mechanisms(settings)[mechid],
        settings=settings,
        lock=WeightsLock(world.store, world.clock, NOWHERE),
        signing=signing,
    )


async def test_two_loops_that_write_at_once_leave_one_log(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = Receipts.last

    async def slowly(self: Receipts) -> ReceiptRecord | None:
        """Let everybody else continue between reading the newest receipt and writing the next one."""
        found = await last(self)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return found

    monkeypatch.setattr(Receipts, "last", slowly)
    world = World(store, miners=5, source=MemorySource(tasks_of_all_types()[:1]), tempo=9)
    settings = WeightsSettings(blocks_before_epoch_end=7, valid_blocks=4)
    weights = asyncio.create_task(service_of(world, 0, settings, asyncio.Lock()).run())
    for _ in range(ROUNDS):
        await on_virtual_time(world, world.service.one_round())
        await on_virtual_time(world, world.clock.sleep(PAUSE_S))
    weights.cancel()
    await asyncio.gather(weights, return_exceptions=True)
    kinds = (await weights_in_log(store)).kinds  # no number is missing or taken twice, and each names the one before
    many = Counter("round" if kind == "round" else "weights" for kind in kinds[1:])
    assert many["round"] == ROUNDS
    assert sum(a != "round" and b == "round" for a, b in pairwise(kinds[1:])) >= 3
    found = verify_file(await export(store, tmp_path / "log.jsonl"))
    assert (found.vectors_recomputed, found.vectors_pending) == (found.vectors, 0)
    assert found.fates["confirmed"] >= 3
