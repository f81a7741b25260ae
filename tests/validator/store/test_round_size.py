"""Growth of a store by one round: on SQLite by pages of each table; on Postgres after a vacuum."""

from world import World, on_virtual_time, tasks_of_all_types

from validator.store import open_store
from validator.store.size import TableSize, table_sizes
from validator.tasks.source import MemorySource

DEMAND = 110_000  # bytes permanently, of a round of 60 answers; `make bench ONLY=store` plays such, of 64 miners
PASSING = {"answers", "bundles"}
ANSWERS = 30  # of a round here
BEFORE, ROUNDS = 2, 6


async def test_a_round_adds_no_more_than_is_demanded(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = World(store, source=MemorySource(tasks_of_all_types(each=1)))

        async def after(rounds: int) -> list[TableSize]:
            for _ in range(rounds):
                await on_virtual_time(world, world.service.one_round())
            async with store.read() as tx:
                return [one for one in await table_sizes(tx.connection) if one.name not in PASSING]

        before, now = await after(BEFORE), await after(ROUNDS)
    bytes_of = [{one.name: one.bytes for one in sizes} for sizes in (before, now)]
    # Rows that became small lie close together: 26 KB, and 34 where they were large before.
    assert (bytes_of[1]["dispatches"] - bytes_of[0]["dispatches"]) / ROUNDS * 60 / ANSWERS < 30_000
    growth = (sum(one.bytes for one in now) - sum(one.bytes for one in before)) / ROUNDS
    assert 0.3 * DEMAND < (growth * 60 / ANSWERS) < 0.9 * DEMAND  # 64 miners have more of their own
    left = {one.name: one.rows for one in now}
    assert left["records"] == BEFORE + ROUNDS
    assert left["judged_documents"] == 0
