"""Sizes by table, and what they come to in a year; pruning that empties what is past its time."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from store_examples import at
from world import World, on_virtual_time, tasks_of_all_types

from validator.store import Store
from validator.store.archiving import prune
from validator.store.forecast import Pace, TableSize, expected, forecast, store_size, table_sizes
from validator.store.tables import metadata, rounds
from validator.tasks.source import MemorySource

DAY = timedelta(days=1).total_seconds()


@pytest.mark.parametrize(
    ("pace", "kept", "per_round", "in_a_year"),
    [
        (Pace(10, 2.0, 5.0), None, 100.0, 1_000 + 100 * 5 * 365),
        (Pace(10, 2.0, 5.0), 30, 100.0, 100 * 5 * 30),  # younger than the retention: it grows until then
        (Pace(10, 2.0, 5.0), 1_000, 100.0, 100 * 5 * 365),
        (Pace(600, 60.0, 10.0), 30, 1_000 / 300, 1_000.0),  # older: as large as it will be
        (Pace(10, 0.01, None), None, 100.0, None),
        (Pace(0, 0.0, None), 30, None, None),
    ],
)
def test_a_table_grows_with_the_rounds_until_its_rows_are_removed(
    pace: Pace, kept: int | None, per_round: float | None, in_a_year: float | None
) -> None:
    found = expected(TableSize("answers", 7, 1_000), pace, kept)
    assert (found.per_round, found.in_a_year) == (per_round, in_a_year)
    assert (found.rows, found.bytes, found.kept_days) == (7, 1_000, kept)


async def test_every_table_has_its_size_and_they_are_the_stores(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types(each=1)))
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    async with store.begin() as tx:  # a day between the two
        await tx.connection.execute(update(rounds).where(rounds.c.round_id == 0).values(started_at=at(0)))
        await tx.connection.execute(update(rounds).where(rounds.c.round_id == 1).values(started_at=at(DAY)))
    async with store.read() as tx:
        sizes = await table_sizes(tx.connection)
        found = await forecast(tx.connection, {"answers": 30, "bundles": 30})
        whole = await store_size(tx.connection)
    assert {one.name for one in sizes} == set(metadata.tables)
    assert [one.bytes for one in sizes] == sorted((one.bytes for one in sizes), reverse=True)
    assert 0.1 * whole.bytes < sum(one.bytes for one in sizes) <= whole.bytes
    assert (found.pace, found.size) == (Pace(2, 1.0, 1.0), whole)
    by_name = {one.name: one for one in found.tables}
    assert by_name["dispatches"].rows == 60
    assert by_name["records"].in_a_year == by_name["records"].bytes * (1 + 365 / 2)
    assert by_name["answers"].in_a_year == by_name["answers"].bytes / 2 * 30
    assert found.in_a_year == sum(one.in_a_year or 0 for one in found.tables)


async def test_a_store_without_rounds_forecasts_nothing(store: Store) -> None:
    async with store.read() as tx:
        found = await forecast(tx.connection, {})
    assert (found.pace, found.in_a_year) == (Pace(0, 0.0, None), None)


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
