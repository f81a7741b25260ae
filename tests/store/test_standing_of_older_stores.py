"""An upgrade takes over from an older store what decides whether a window pays, as if it had been kept all along."""

import zlib
from pathlib import Path
from typing import Any

import pytest
from old_store import unpacked
from sqlalchemy import Connection, MetaData, Table, Text, column, insert, select, table
from store_examples import HOTKEYS, PYTHON, RAG, answer_all, at
from store_migrating import migrate_to
from test_store_standing import declared_since, end, freeze, unproven

from validator.store import Store, open_store, upgrade
from validator.store.codec import expanded
from validator.store.columns import Json
from validator.store.connect import make_engine, writing
from validator.store.copying import copy_store
from validator.store.repositories.weights import PlannedWeights
from validator.store.tables import metadata
from validator.store.urls import parse_url

A, B, C, D, E = HOTKEYS
BEFORE = "r0007"


@pytest.fixture
async def kept(store: Store) -> Store:
    """A store that kept everything from its first round on: left out and back, left out and not, declared and not."""
    both = {A: (PYTHON, RAG), B: (PYTHON,), E: (RAG,)}
    await end(store, await freeze(store, 0, declared=both, excluded={A: "low_reputation", E: "failure_rate"}))
    await end(store, await freeze(store, 1, declared=both, members=(A, B, C)))
    async with store.begin() as tx:
        await tx.weights.prepare(1, 0, 4, PlannedWeights({A: 1.0}, {A: 1.0}, 0.0, {0: 65_535}), at(1.5))
    await end(store, await freeze(store, 2, declared={A: (PYTHON,), B: (PYTHON,)}, excluded={B: "low_reputation"}))
    await end(store, await freeze(store, 3, declared={A: (PYTHON,)}, excluded={B: "failure_rate"}), "void")
    still_open = await freeze(store, 4, declared=both, excluded={D: "low_reputation"}, members=(A, B, C))
    await answer_all(store, still_open)
    return store


@pytest.mark.parametrize("older", ["sqlite", "postgres"])
async def test_an_upgrade_finds_what_would_have_been_kept(
    kept: Store, older: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    old = f"sqlite:///{tmp_path}/old.sqlite"
    if older == "postgres":
        old = request.getfixturevalue("empty_postgres_url")
    await migrate_to(old, BEFORE)
    await _copy_what_was_there(kept, old)
    assert await upgrade(old) == "behind"
    async with open_store(old) as upgraded, upgraded.read() as tx:
        vector = await tx.vectors.before(1, 0, 5)
        assert vector is not None
        assert (vector.round_id, vector.unpaid, vector.positive, vector.computed_at) == (1, None, True, at(1.5))
        assert await unproven(upgraded) == await unproven(kept)
        assert set(await unproven(kept)) == {(name, str(PYTHON)) for name in (B, D, E)}
        for after in (vector.round_id, 4):
            assert await declared_since(upgraded, after) == await declared_since(kept, after)
        assert await declared_since(upgraded, 0) == await declared_since(kept, 0)


async def test_a_store_of_the_released_version_can_compute_its_next_vector(
    tmp_path: Path, empty_store_url: str
) -> None:
    url = f"sqlite:///{unpacked('store.sqlite', tmp_path)}"
    assert await upgrade(url) == "behind"
    if empty_store_url.startswith("postgres"):
        await copy_store(url, empty_store_url, lambda _name, _rows: None)
        url = empty_store_url
    async with open_store(url) as store, store.read() as tx:
        newest, last = await tx.vectors.before(1, 0, 99), await tx.rounds.newest_frozen()
        stored = await tx.rounds.get(2)
        assert newest is not None
        assert stored is not None
        assert stored.input is not None
        assert last is not None
        assert (newest.epoch, newest.round_id, last.round_id, last.scoring_version) == (1, 2, 2, "1.0.0")
        declared = {(miner.hotkey, str(kind)) for miner in stored.input.miners for kind in miner.skill_types}
        assert await tx.declarations.since(newest.round_id) == (1, dict.fromkeys(declared, 1))
        assert await tx.exclusions.standing() == {}


async def _copy_what_was_there(source: Store, target: str) -> None:
    """Copy the rows of every table and column that the older tables have."""
    engine = make_engine(parse_url(target), foreign_keys=False, pooled=False)
    async with source.read() as tx, writing(engine).begin() as writer:
        older = await writer.run_sync(_reflected)
        for known in metadata.sorted_tables:
            if known.name in older:
                both = _both(known, older[known.name])
                rows = [_of_then(row._asdict()) for row in (await tx.connection.execute(select(both))).all()]
                if rows:
                    await writer.execute(insert(both), rows)
    await engine.dispose()


def _of_then(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its input as older programs stored it."""
    return {**row, "input": zlib.compress(expanded(row["input"]))} if row.get("input") else row


def _reflected(connection: Connection) -> dict[str, Table]:
    found = MetaData()
    found.reflect(connection)
    return dict(found.tables)


def _both(known: Table, older: Table) -> Any:
    columns = [c for c in known.columns if c.name in older.columns]
    return table(known.name, *(column(c.name, Text() if isinstance(c.type, Json) else c.type) for c in columns))
