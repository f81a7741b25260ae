"""Kills around the submission: no epoch is sent twice, none is lost. `make crash-test` takes many of them."""

import os
from pathlib import Path

import pytest
from crash_world import hold_truth, kill_at_random, race, world_of

from validator.store import open_store

pytestmark = pytest.mark.attack
KILLS = int(os.environ.get("CRASH_KILLS", "8"))
RACERS = int(os.environ.get("CRASH_RACERS", "3"))


async def test_kills_around_the_submission_neither_double_nor_lose_an_epoch(store_url: str, tmp_path: Path) -> None:
    chain, life = await world_of(store_url, tmp_path)
    async with chain.served(Path(life.socket)):
        figures = await kill_at_random(chain, life, KILLS)
    print(f"\n{store_url.partition(':')[0]}: {figures}")  # noqa: T201 - the figures are the point
    assert figures.kills.total() >= KILLS
    assert (figures.double, figures.lost) == (0, 0)
    blocks = {s.epoch: s.pending.result.block for s in chain.sent if s.pending.result and s.pending.result.accepted}
    await hold_truth(chain, life)
    async with open_store(store_url) as store, store.read() as tx:
        records = {record.epoch: record for record in await tx.weights.listing(10_000)}
    for epoch in range(figures.epochs):
        assert (records[epoch].state, records[epoch].block) == ("confirmed", blocks[epoch])


async def test_of_many_that_race_for_an_epoch_one_submits(store_url: str, tmp_path: Path) -> None:
    chain, life = await world_of(store_url, tmp_path, faulty=False)
    async with chain.served(Path(life.socket)):
        figures = await race(chain, life, RACERS)
    print(f"\n{store_url.partition(':')[0]}: {RACERS} racers, {figures.sent} submitted")  # noqa: T201 - the figures are the point
    assert (figures.sent, figures.double, figures.lost) == (1, 0, 0)
