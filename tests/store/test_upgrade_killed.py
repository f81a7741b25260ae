"""An upgrade of a released version's store that is killed, at whatever step: the next one does all of it."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest
from old_store import OF_PROGRAM, connected, recorded, take_rows, unpacked
from replays import replayed
from sqlalchemy import MetaData, select
from store_migrating import migrate_to

from validator.store import open_store, schema_state, upgrade
from validator.store.errors import StoreLockedError
from validator.store.schema import revisions

pytestmark = pytest.mark.attack

KILLED = """
import asyncio, os, signal, sys
from validator.store import upgrade

def told(revision, _seconds):
    if revision == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(upgrade(sys.argv[1], told))
"""
Rows = dict[str, list[str]]


async def left_by(program: str, folder: Path, postgres: str | None) -> str:
    """The url of a store that a released program left, in a folder of its own, or its rows in Postgres."""
    tables, scoring = OF_PROGRAM[program]
    file = unpacked("store.sqlite", folder, scoring)
    if postgres is None:
        return f"sqlite:///{file}"
    await migrate_to(postgres, tables)
    with connected(f"sqlite:///{file}") as source, connected(postgres) as target:
        take_rows(source, target)
    return postgres


def rows_of(url: str) -> Rows:
    """Everything in it, by table."""
    metadata = MetaData()
    with connected(url) as connection:
        metadata.reflect(connection)
        return {table.name: sorted(map(repr, connection.execute(select(table)))) for table in metadata.sorted_tables}


async def again(url: str) -> str:
    """Upgrade as soon as the database has noticed that the killed one is gone."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await upgrade(url)
            except StoreLockedError:
                await asyncio.sleep(0)


@pytest.mark.parametrize("step", ["the first", "the last"])
@pytest.mark.parametrize("program", OF_PROGRAM)
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_the_next_upgrade_does_all_of_it(
    database: str, program: str, step: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tables, scoring = OF_PROGRAM[program]
    postgres = request.getfixturevalue("empty_postgres_url") if database == "postgres" else None
    url = await left_by(program, tmp_path, postgres)
    before = rows_of(url)
    at = revisions()[revisions().index(tables) + 1] if step == "the first" else revisions()[-1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, url, at)
    assert await process.wait() == -signal.SIGKILL
    assert await schema_state(url) == "behind"
    assert rows_of(url) == before
    assert await again(url) == "behind"
    assert await schema_state(url) == "current"
    async with open_store(url) as store:
        for line in map(json.loads, recorded("replay.jsonl", scoring)):
            assert (await replayed(store, line["round_id"])).verdict == "equal"
    whole = tmp_path / "whole"
    whole.mkdir()
    await upgrade(undisturbed := await left_by(program, whole, None))
    if database == "sqlite":
        assert rows_of(url) == rows_of(undisturbed)
