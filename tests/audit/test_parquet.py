"""The store's tables as Parquet files: what is stored, and no bytes of anybody's."""

import json
from datetime import UTC
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import LargeBinary, func, select
from world import World, on_virtual_time

from validator.audit.parquet import ExportError, export_tables, table_names
from validator.protocol.round import AssessedMember, MemberOutcome
from validator.store import Store
from validator.store.tables import metadata


@pytest.fixture
async def used(store: Store) -> Store:
    world = World(store)
    for _ in range(2):
        await on_virtual_time(world, world.service.one_round())
    return store


def quality_of(member: MemberOutcome) -> float | None:
    return member.emission.quality if isinstance(member, AssessedMember) and member.emission else None


async def test_every_table_is_there_with_its_rows_and_values_and_without_bytes(used: Store, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    steps: list[int] = []
    async with used.read() as tx:
        written = await export_tables(tx, folder, progress=steps.append)
        counts = {
            name: int(await tx.connection.scalar(select(func.count()).select_from(table)) or 0)
            for name, table in metadata.tables.items()
        }
        stored = [(number, member) for number in (0, 1) for member in await tx.scores.of_round(number)]
        outcomes = [await tx.records.outcome(number) for number in (0, 1)]
        sent = [one for number in (0, 1) for one in await tx.dispatches.of_round(number)]
    counts |= {"scores": len(stored), "groups": sum(len(one.groups) for one in outcomes if one)}
    counts |= {"agreements": sum(len(one.samples) for one in outcomes if one)}
    counts |= {"reputation_events": sum(len(one.reputation) for one in outcomes if one)}
    assert [one.name for one in written] == sorted(counts) == list(table_names())
    assert {one.name: one.rows for one in written} == counts
    assert sum(steps) == sum(counts.values())
    for name, table in metadata.tables.items():
        if name != "groups":
            names = [column.name for column in table.columns if not isinstance(column.type, LargeBinary)]
            assert pq.read_schema(folder / f"{name}.parquet").names == names
        assert (folder / f"{name}.parquet").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    scores = pq.read_table(folder / "scores.parquet").to_pylist()
    assert [(row["round_id"], row["hotkey"], row["consensus"], row["quality"], row["reason"]) for row in scores] == [
        (number, one.hotkey, one.consensus, quality_of(one), str(one.reason)) for number, one in stored
    ]
    rows = {(row["task_id"], row["hotkey"]): row for row in pq.read_table(folder / "dispatches.parquet").to_pylist()}
    for one in sent:
        row = rows[one.key.task_id, one.key.hotkey]
        assert row["sent_at"].astimezone(UTC) == one.sent_at
        assert (row["reason"], row["body_bytes"]) == (str(one.reason), one.body_bytes)
        assert json.loads(row["submission"])["hotkey"] == one.key.hotkey
        assert json.loads(row["raw"]) == [*(one.raw or ())]


async def test_only_what_was_asked_for(used: Store, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    async with used.read() as tx:
        written = await export_tables(tx, folder, names=["rounds", "miners", "scores"], since=1)
    assert [(one.name, one.rows) for one in written] == [("rounds", 1), ("miners", 7), ("scores", 10)]
    assert set(pq.read_table(folder / "scores.parquet")["round_id"].to_pylist()) == {1}
    assert len(list(folder.iterdir())) == 3


def halves(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


async def test_nothing_is_written_over(used: Store, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    async with used.read() as tx:
        with pytest.raises(ExportError, match=f"{tmp_path}/there exists; name a new folder"):
            await export_tables(tx, tmp_path / "there")
        with pytest.raises(ExportError, match=f"{tmp_path}/no/folder: No such file or directory"):
            await export_tables(tx, tmp_path / "no" / "folder")
    assert not list((tmp_path / "there").iterdir())
    assert not halves(tmp_path)
