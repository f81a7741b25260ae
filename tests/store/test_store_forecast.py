"""Sizes by table, and the pace of rounds; pruning that empties what is past its time."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from store_examples import at
from world import World, on_virtual_time, tasks_of_all_types

from validator.store import Store
from validator.store.archiving import prune
from validator.store.forecast import Pace, pace_of, store_size, table_sizes
from validator.store.tables import metadata, rounds
from validator.tasks.source import MemorySource

DAY = timedelta(days=1).total_seconds()


async def test_every_table_has_its_size_and_they_are_the_stores(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types(each=1)))
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    async with store.begin() as tx:  # a day between the two
        await tx.connection.execute(update(rounds).where(rounds.c.round_id == 0).values(started_at=at(0)))
        await tx.connection.execute(update(rounds).where(rounds.c.round_id == 1).values(started_at=at(DAY)))
    async with store.read() as tx:
        sizes = await table_sizes(tx.connection)
        pace = await pace_of(tx.connection)
        whole = await store_size(tx.connection)
    assert {one.name for one in sizes} == set(metadata.tables)
    assert [one.bytes for one in sizes] == sorted((one.bytes for one in sizes), reverse=True)
    assert 0.1 * whole.bytes < sum(one.bytes for one in sizes) <= whole.bytes
    assert pace == Pace(2, 1.0, 1.0)
    assert {one.name: one.rows for one in sizes}["dispatches"] == 60


async def test_a_store_without_rounds_has_no_pace(store: Store) -> None:
    async with store.read() as tx:
        assert await pace_of(tx.connection) == Pace(0, 0.0, None)


async def test_pruning_removes_all_that_is_past_its_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validator.store.archiving._ROWS", 7)  # several transactions
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
