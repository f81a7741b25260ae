"""Kills around submissions: no epoch or day is sent twice, none is lost. CRASH_KILLS says how many."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from crash_child import ANCHOR_PLACES
from crash_world import hold_truth, kill_at_random, killed_at, race, world_of

from validator.protocol.receipt import anchor_of
from validator.store import open_store

pytestmark = pytest.mark.attack
KILLS = int(os.environ.get("CRASH_KILLS", "8"))
ANCHOR_EVERY = 75  # blocks; an epoch has 60, and a new receipt each
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


async def test_kills_around_an_anchor_neither_double_nor_lose_one(store_url: str, tmp_path: Path) -> None:
    """Every anchor names a receipt of the log; those that were on their way when the process died are waited for."""
    chain, life = await world_of(store_url, tmp_path, faulty=False)
    life = life._replace(anchor_every=ANCHOR_EVERY, before_end=10)
    chain.chain.faults.delay = 3  # a new process begins while it is on its way
    async with chain.served(Path(life.socket)):
        for place in ANCHOR_PLACES:
            await killed_at(chain, life, place, epochs=3)
        await killed_at(chain, life, None, epochs=3)
    await hold_truth(chain, life)
    async with open_store(store_url) as store, store.read() as tx:
        found = [await tx.receipts.get(number) for number in range(await tx.receipts.count())]
    digests = {record.sequence: record.sha256 for record in found if record is not None}
    landed = [(one.result.block, anchor_of(one.content)) for one in chain.anchors if one.result]
    assert len(chain.anchors) == len(landed) >= 3  # those of the two places behind the signature, and one in peace
    for block, anchor in landed:
        assert block is not None
        assert anchor is not None
        assert digests[anchor.sequence] == anchor.digest
    blocks = [block for block, _ in landed if block is not None]
    assert all(later - block >= ANCHOR_EVERY for block, later in pairwise(blocks))
    assert blocks[-1] > chain.subnet.blocks.number() - 3 * 60
