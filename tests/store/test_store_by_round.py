"""What a round left is found by the round, however many there were before it."""

from sqlalchemy import text

from validator.store import open_store
from validator.store.tables import metadata

FEW = {"exclusions", "flags", "given_tasks", "weight_vectors"}  # they do not grow with every round


async def test_rows_of_a_round_are_searched_for_and_not_looked_through(sqlite_url: str) -> None:
    found = {table.name for table in metadata.sorted_tables if "round_id" in table.c} - FEW
    assert {"dispatches", "scores", "window_entries", "agreements", "reputation_events"} <= found
    async with open_store(sqlite_url) as store, store.read() as tx:
        for name in sorted(found):
            plan = await tx.connection.execute(text(f"EXPLAIN QUERY PLAN SELECT * FROM {name} WHERE round_id = 5"))
            assert ["SCAN" in row[3] for row in plan] == [False], name
