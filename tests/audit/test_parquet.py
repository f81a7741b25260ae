"""The store's tables as Parquet files: what is stored, and no bytes of anybody's."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import LargeBinary, func, select
from world import World, on_virtual_time

from validator.audit.parquet import ExportError, export_tables, table_names
from validator.store import Store
from validator.store.tables import dispatches, metadata, scores


@pytest.fixture
async def used(store: Store) -> Store:
    world = World(store)
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    return store


async def test_every_table_is_there_with_its_rows_and_values_and_without_bytes(used: Store, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    steps: list[int] = []
    async with used.read() as tx:
        written = await export_tables(tx.connection, folder, progress=steps.append)
        counts = {
            name: int(await tx.connection.scalar(select(func.count()).select_from(table)) or 0)
            for name, table in metadata.tables.items()
        }
        stored = (await tx.connection.execute(select(scores).order_by(scores.c.task_id, scores.c.hotkey))).all()
        first = (await tx.connection.execute(select(dispatches).order_by(dispatches.c.task_id).limit(1))).one()
    assert [one.name for one in written] == sorted(metadata.tables) == list(table_names())
    assert {one.name: one.rows for one in written} == counts
    assert sum(steps) == sum(counts.values())
    for name, table in metadata.tables.items():
        names = [column.name for column in table.columns if not isinstance(column.type, LargeBinary)]
        assert pq.read_schema(folder / f"{name}.parquet").names == names
        assert pq.read_metadata(folder / f"{name}.parquet").num_rows == counts[name]
        assert (folder / f"{name}.parquet").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    rows = (
        pq.read_table(folder / "scores.parquet")
        .sort_by([("task_id", "ascending"), ("hotkey", "ascending")])
        .to_pylist()
    )
    assert [(row["hotkey"], row["consensus"], row["quality"], row["reason"]) for row in rows] == [
        (row.hotkey, row.consensus, row.quality, str(row.reason)) for row in stored
    ]
    sent = next(
        row
        for row in pq.read_table(folder / "dispatches.parquet").to_pylist()
        if (row["task_id"], row["hotkey"]) == (first.task_id, first.hotkey)
    )
    assert sent["sent_at"] == first.sent_at
    assert isinstance(sent["sent_at"], datetime)
    assert sent["sent_at"].astimezone(UTC) == first.sent_at
    assert json.loads(sent["submission"])["hotkey"] == first.hotkey


async def test_only_what_was_asked_for(used: Store, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    async with used.read() as tx:
        written = await export_tables(tx.connection, folder, names=["rounds", "miners", "scores"], since=1)
    assert [(one.name, one.rows) for one in written] == [("rounds", 1), ("miners", 7), ("scores", 10)]
    assert set(pq.read_table(folder / "scores.parquet")["round_id"].to_pylist()) == {1}
    assert len(list(folder.iterdir())) == 3


def halves(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


async def test_nothing_is_written_over(used: Store, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    async with used.read() as tx:
        with pytest.raises(ExportError, match=f"{tmp_path}/there is there; name a new folder"):
            await export_tables(tx.connection, tmp_path / "there")
        with pytest.raises(ExportError, match=f"{tmp_path}/no/folder: No such file or directory"):
            await export_tables(tx.connection, tmp_path / "no" / "folder")
    assert not list((tmp_path / "there").iterdir())
    assert not halves(tmp_path)
