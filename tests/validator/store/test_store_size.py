"""Sizes by table, and growth over seven days; pruning that empties what is past its time."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from store_examples import at
from world import World, on_virtual_time, tasks_of_all_types

from validator.store import Store
from validator.store.pruning import prune
from validator.store.size import DiskUse, disk_use, store_size, table_sizes
from validator.store.tables import answers, bundles, metadata, rounds
from validator.tasks.source import MemorySource

DAY = timedelta(days=1).total_seconds()
KEPT = {"answers": 30, "bundles": 30}


async def test_every_table_has_its_size_and_they_are_the_stores(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types(each=1)))
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        sizes = await table_sizes(tx.connection)
        whole = await store_size(tx.connection)
    assert {one.name for one in sizes} == set(metadata.tables)
    assert [one.bytes for one in sizes] == sorted((one.bytes for one in sizes), reverse=True)
    assert 0.1 * whole.bytes < sum(one.bytes for one in sizes) <= whole.bytes
    assert {one.name: one.rows for one in sizes}["dispatches"] == 60


async def test_growth_is_that_of_seven_days_without_what_retention_takes_away(store: Store, tmp_path: Path) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types(each=1)))
    async with store.read() as tx:
        assert (await disk_use(tx.connection, None, KEPT, at(0)))[1:] == (None, None, None)
    for _ in range(4):
        await on_virtual_time(world, world.service.one_round())
    async with store.begin() as tx:  # one round on each of days 0, 10, 12 and 14
        for round_id, day in enumerate((0, 10, 12, 14)):
            moment = at(day * DAY)
            await tx.connection.execute(update(rounds).where(rounds.c.round_id == round_id).values(started_at=moment))
            await tx.connection.execute(update(answers).where(answers.c.round_id == round_id).values(stored_at=moment))
        await tx.connection.execute(update(bundles).values(stored_at=at(0)))

    async def on_day(day: float, raw_days: int = 30) -> DiskUse:
        async with store.read() as tx:
            return await disk_use(tx.connection, tmp_path, {"answers": raw_days, "bundles": 30}, at(day * DAY))

    assert (await on_day(0.1)).per_day is None
    whole, permanent = await on_day(14.5), await on_day(14.5, raw_days=3)
    assert whole.per_day is not None
    assert whole.free is not None
    assert permanent.per_day is not None
    assert whole.days_left == pytest.approx(whole.free / whole.per_day)
    async with store.read() as tx:
        sizes = {one.name: one for one in await table_sizes(tx.connection)}
        size = await store_size(tx.connection)
    raw = whole.per_day - permanent.per_day
    assert 0.2 < 7 * raw / (sizes["answers"].bytes * 3 / 4) <= 1.1
    kept = size.bytes - size.reusable - sizes["answers"].bytes - sizes["bundles"].bytes
    assert 0.9 < 7 * permanent.per_day / (kept * 3 / 4) < 2
    alone = await on_day(20.5)  # the last round alone
    assert alone.per_day is not None
    assert 0.2 < alone.per_day / whole.per_day < 0.5
    assert (await on_day(40)).per_day == 0


async def test_pruning_removes_all_that_is_past_its_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validator.store.pruning._ROWS", 7)  # several transactions
    world = World(store, source=MemorySource(tasks_of_all_types()))
    await on_virtual_time(world, world.service.one_round())
    long_after = world.clock.now() + timedelta(days=1)
    kept = await prune(store, answers_before=at(0), bundles_before=at(0))
    assert kept == (0, 0)
    pruned = await prune(store, answers_before=long_after, bundles_before=long_after)
    assert pruned.answers == 60
    assert pruned.bundles > 7
    async with store.read() as tx:
        left = {one.name: one.rows for one in await table_sizes(tx.connection)}
    assert (left["answers"], left["bundles"]) == (0, 0)
    assert left["records"] == 1
