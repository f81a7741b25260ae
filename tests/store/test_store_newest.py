"""What is read of every miner and type costs what it is, not what is older: the plans of the statements say so."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, event
from store_examples import HOTKEYS, PYTHON, RAG, play_round

from validator.store import Store, Transaction, open_store

Read = Callable[[Transaction], Awaitable[Any]]
READS: dict[str, Read] = {
    "dispatches": lambda tx: tx.histories.computed(),
    "agreements": lambda tx: tx.agreements.computed(),
    "window_entries": lambda tx: tx.windows.all(100),
}


async def plan_of(store: Store, read: Read) -> list[str]:
    """How SQLite goes about the statement of a read that finds the newest."""
    statements: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "newest" in statement:
            statements.append((statement, parameters))

    async with store.read() as tx:
        engine: Engine = tx.connection.engine.sync_engine
        event.listen(engine, "before_cursor_execute", note)
        try:
            await read(tx)
        finally:
            event.remove(engine, "before_cursor_execute", note)
        (only,) = statements
        connection = await tx.connection.get_raw_connection()
        driver: Any = connection.driver_connection
        cursor = await driver.execute(f"EXPLAIN QUERY PLAN {only[0]}", only[1])
        return [row[3] for row in await cursor.fetchall()]


@pytest.mark.parametrize("table", READS)
async def test_only_the_end_of_each_pair_s_part_of_an_index_is_read(sqlite_url: str, table: str) -> None:
    async with open_store(sqlite_url) as store:
        await play_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS})
        plan = await plan_of(store, READS[table])
    looks = [step for step in plan if step.split()[1] == table]
    assert len(looks) == 3, plan  # whether there is one, the oldest that counts, and the part
    assert all(step.startswith("SEARCH") and "(hotkey=? AND skill_type=?" in step for step in looks), plan


async def test_of_recent_answers_only_what_is_newer_is_read(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        await play_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS})
        plan = await plan_of(store, lambda tx: tx.histories.recent(datetime.now(UTC)))
    assert [step for step in plan if step.split()[1] == "dispatches"] == [
        "SEARCH dispatches USING INDEX sqlite_autoindex_dispatches_1 (round_id>?)"
    ], plan
