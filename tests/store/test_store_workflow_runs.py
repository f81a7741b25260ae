"""Runs of plans: copied whole to the other database, and kept when raw answers go."""

from datetime import timedelta
from pathlib import Path

import pytest
from planned import MINERS, PLANNED_ROUNDS, planned
from replays import replayed
from sqlalchemy import func, select

from validator.store import Store, open_store
from validator.store.copying import copy_store, row_counts
from validator.store.tables import answers


@pytest.mark.parametrize("way", ["sqlite to postgres", "postgres to sqlite"])
async def test_a_copy_has_every_run_and_replays_alike(way: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    source, target = (f"{kind}_url" for kind in way.split(" to "))
    url = request.getfixturevalue(source)
    other = f"sqlite:///{tmp_path}/copy.sqlite" if target == "sqlite_url" else request.getfixturevalue(target)
    async with open_store(url, create=True) as store:
        await planned(store)
    copied = await copy_store(url, other, lambda _table, _rows: None)
    assert {table.name: table.rows for table in copied} == await row_counts(url)
    for round_id in range(PLANNED_ROUNDS):
        found = []
        for one in (url, other):
            async with open_store(one) as store:
                found.append(await replayed(store, round_id))
        assert found[0] == found[1]
        assert found[0].verdict == "equal"


async def test_runs_and_plans_stay_when_raw_answers_go(store: Store) -> None:
    world = await planned(store)
    async with store.begin() as tx:
        before = [await tx.submissions.results(round_id) for round_id in range(PLANNED_ROUNDS)]
        pruned = await tx.retention.prune(answers_before=world.clock.now() + timedelta(days=1))
    assert pruned.answers == 2 * PLANNED_ROUNDS * MINERS
    async with store.read() as tx:
        assert (await tx.connection.execute(select(func.count()).select_from(answers))).scalar() == 0
        assert [await tx.submissions.results(round_id) for round_id in range(PLANNED_ROUNDS)] == before
