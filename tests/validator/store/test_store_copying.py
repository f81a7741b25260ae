"""A store copied to the other database holds the same values, continues where the first was, and replays alike."""

from pathlib import Path

import pytest
from sqlalchemy import Text, cast, func, select, update
from state_kit import plant_flag
from world import World, on_virtual_time, tasks_of_all_types

from sssa.protocol.round import FlagRaised
from sssa.protocol.skill_types import SkillType
from sssa.sources import SystemClock
from validator.audit.replay import replay_round
from validator.store import open_store, schema_state
from validator.store.copying import copy_store, row_counts
from validator.store.errors import (
    CopyError,
    NotEmptyError,
    SchemaStateError,
    StoreLockedError,
    StoreUnreachableError,
    UnstorableError,
)
from validator.store.tables import dispatches, flags, metadata
from validator.tasks.source import MemorySource


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
async def urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """A store with a round and a flag, and an empty place."""
    kinds = request.param.split(" to ")
    source = request.getfixturevalue(f"{kinds[0]}_url")
    target = (
        f"sqlite:///{tmp_path}/copy.sqlite" if kinds[1] == "sqlite" else request.getfixturevalue("empty_postgres_url")
    )
    async with open_store(source, create=True) as store:
        world = World(store, source=MemorySource(tasks_of_all_types(each=1)))
        await on_virtual_time(world, world.service.one_round())
        async with store.begin() as tx:
            flag = FlagRaised(next(iter(world.signers)), SkillType.MCP_SERVER, 0.1 + 0.2 + 0.65, 1 / 3, 0.25, 0.75, 5)
            await plant_flag(tx, flag, 0, SystemClock().now())
            await tx.acts.clear(flag.hotkey, "looked\u202e at \\u202e", SystemClock().now())
            odd = '{"z": "a\\u0000b", "a": 1.0}'  # not canonical: the copy must not tidy up
            first = select(func.min(dispatches.c.hotkey)).scalar_subquery()
            as_text = update(dispatches).where(dispatches.c.hotkey == first)
            await tx.connection.execute(as_text.values(submission=cast(odd, Text)))
    return source, target


async def everything(url: str) -> dict[str, list[str]]:
    async with open_store(url) as store, store.read() as tx:
        found = {}
        for table in metadata.sorted_tables:
            columns = [cast(c, Text) if c.name == "submission" else c for c in table.columns]
            rows = (await tx.connection.execute(select(*columns))).all()
            found[table.name] = sorted(repr(tuple(row)) for row in rows)
        return found


async def test_every_value_is_the_same_and_the_copy_replays_alike(urls: tuple[str, str]) -> None:
    source, target = urls
    steps: list[int] = []
    copied = await copy_store(source, target, lambda _table, rows: steps.append(rows))
    assert await everything(source) == await everything(target)
    counts = await row_counts(target)
    assert {table.name: table.rows for table in copied} == counts == await row_counts(source)
    assert sum(steps) == sum(counts.values()) > 100
    replays = []
    for url in urls:
        async with open_store(url) as store, store.read() as tx:
            replays.append(await replay_round(tx, 0))
    assert replays[0] == replays[1] is not None
    before = await everything(target)
    for again in urls:
        with pytest.raises(NotEmptyError):
            await copy_store(again, target, lambda _table, _rows: None)
    assert await everything(target) == before


async def test_the_copy_goes_on_where_the_first_was(urls: tuple[str, str]) -> None:
    source, target = urls
    await copy_store(source, target, lambda _table, _rows: None)
    async with open_store(target, writer=True) as store:
        world = World(store)
        end = await on_virtual_time(world, world.service.one_round())
        assert (end.round_id, end.reason) == ("1", "settled")
        async with store.begin() as tx:
            raised = FlagRaised(next(iter(world.signers)), SkillType.MCP_SERVER, 0.95, 0.5, 0.25, 0.75, 5)
            await plant_flag(tx, raised, 1, SystemClock().now())
            ids = list(await tx.connection.scalars(select(flags.c.id).order_by(flags.c.id)))
            assert ids == [1, 2]


async def test_a_copy_that_comes_out_otherwise_is_not_kept(
    urls: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = urls
    numbers = iter(range(10_000_000))
    monkeypatch.setattr("validator.store.copying._number", lambda _row: next(numbers))
    with pytest.raises(CopyError):
        await copy_store(source, target, lambda _table, _rows: None)
    assert set((await row_counts(target)).values()) == {0}
    monkeypatch.undo()
    await copy_store(source, target, lambda _table, _rows: None)
    assert await everything(source) == await everything(target)


async def test_a_target_in_use_and_a_source_without_tables_are_refused(empty_sqlite_url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path}/other.sqlite"
    with pytest.raises(SchemaStateError):
        await copy_store(empty_sqlite_url, other, lambda _table, _rows: None)
    assert await schema_state(other) == "empty"
    async with open_store(empty_sqlite_url, create=True), open_store(other, create=True, writer=True):
        with pytest.raises(StoreLockedError):
            await copy_store(empty_sqlite_url, other, lambda _table, _rows: None)
    with pytest.raises(StoreUnreachableError):
        await copy_store(empty_sqlite_url, "sqlite:////nowhere/at/all.sqlite", lambda _table, _rows: None)


def test_the_odd_text_would_be_refused_by_the_column() -> None:
    with pytest.raises(UnstorableError):
        dispatches.c.submission.type.process_bind_param({"a": float("nan")}, None)  # type: ignore[attr-defined]
