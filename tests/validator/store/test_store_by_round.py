"""Reads of a round's data do not depend on the number of earlier rounds."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, event, text

from validator.store import open_store
from validator.store.tables import metadata

FEW = {"acts", "flags", "given_tasks", "submitted_skills", "weight_vectors"}  # they do not grow with every round


async def test_rows_of_a_round_are_searched_for_and_not_looked_through(sqlite_url: str) -> None:
    found = {table.name for table in metadata.sorted_tables if "round_id" in table.c} - FEW
    assert {"dispatches", "records", "state_copies"} <= found
    async with open_store(sqlite_url) as store, store.read() as tx:
        for name in sorted(found):
            plan = await tx.connection.execute(text(f"EXPLAIN QUERY PLAN SELECT * FROM {name} WHERE round_id = 5"))
            assert ["SCAN" in row[3] for row in plan] == [False], name


async def test_of_recent_answers_only_what_is_newer_is_read(sqlite_url: str) -> None:
    statements: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        statements.append((statement, parameters))

    async with open_store(sqlite_url) as store, store.read() as tx:
        engine: Engine = tx.connection.engine.sync_engine
        event.listen(engine, "before_cursor_execute", note)
        await tx.dispatches.recent(datetime.now(UTC))
        event.remove(engine, "before_cursor_execute", note)
        (only,) = statements
        driver: Any = (await tx.connection.get_raw_connection()).driver_connection
        cursor = await driver.execute(f"EXPLAIN QUERY PLAN {only[0]}", only[1])
        plan = [row[3] for row in await cursor.fetchall()]
    assert [step for step in plan if step.split()[1] == "dispatches"] == [
        "SEARCH dispatches USING INDEX sqlite_autoindex_dispatches_1 (round_id>?)"
    ], plan
