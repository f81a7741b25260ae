"""What a round left is found by the round, however many there were before it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from validator.store import open_store
from validator.store.tables import metadata

FEW = {"exclusions", "flags", "given_tasks", "weight_vectors"}  # they do not grow with every round


async def test_rows_of_a_round_are_searched_for_and_not_looked_through(sqlite_url: str) -> None:
    found = {table.name for table in metadata.sorted_tables if "round_id" in table.c} - FEW
    assert {"dispatches", "records", "window_entries", "agreements"} <= found
    async with open_store(sqlite_url) as store, store.read() as tx:
        for name in sorted(found):
            plan = await tx.connection.execute(text(f"EXPLAIN QUERY PLAN SELECT * FROM {name} WHERE round_id = 5"))
            assert ["SCAN" in row[3] for row in plan] == [False], name


@pytest.mark.parametrize("later", [0, 5_000])
async def test_where_an_old_round_s_windows_ended_is_found_without_what_came_later(
    later: int, sqlite_url: str, tmp_path: Path
) -> None:
    rows = [(number // 3 * 2, number) for number in range(30 + later)]  # three entries in every other round
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        columns = "hotkey, skill_type, task_id, value, round_id, sequence"
        connection.executemany(f"INSERT INTO window_entries ({columns}) VALUES ('hk', 'rag', 't', 0.5, ?, ?)", rows)
    async with open_store(sqlite_url) as store, store.read() as tx:
        driver: Any = (await tx.connection.get_raw_connection()).driver_connection
        steps: list[None] = []
        await driver.set_progress_handler(lambda: steps.append(None), 1)
        ends = [await tx.windows.end_of(round_id) for round_id in (0, 1, 8, 9)]
        await driver.set_progress_handler(None, 1)
        assert ends == [2, 2, 14, 14]
        assert len(steps) < 4 * 60
