from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from validator.store import Store, open_store, schema_state, upgrade
from validator.store.connections import create_file, make_engine, writing
from validator.store.errors import StoreLockedError, StoreUnreachableError
from validator.store.schema import MIGRATIONS, VERSION_TABLE, revisions
from validator.store.tables import metadata
from validator.store.urls import parse_url


def _differences(connection: Connection) -> list[Any]:
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def test_the_revisions_are_those_that_alembic_finds_and_their_names_are_in_order() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    assert tuple(scripts.get_heads()) == revisions()[-1:]
    assert tuple(script.revision for script in scripts.walk_revisions()) == revisions()[::-1]


async def test_the_migrations_make_the_tables_of_the_program(store: Store) -> None:
    async with store.begin() as tx:
        assert await tx.connection.run_sync(_differences) == []


async def test_the_comparison_would_see_a_difference(store: Store) -> None:
    async with store.begin() as tx:
        await tx.connection.execute(text("ALTER TABLE salts ADD COLUMN pepper INTEGER"))
        assert "pepper" in str(await tx.connection.run_sync(_differences))


async def test_upgrading_twice_changes_nothing(empty_store_url: str) -> None:
    assert await upgrade(empty_store_url) == "empty"
    async with open_store(empty_store_url) as store, store.begin() as tx:
        await tx.connection.execute(text("INSERT INTO miners VALUES ('5F', 1, 2, 3)"))
    assert await upgrade(empty_store_url) == "current"
    async with open_store(empty_store_url) as store, store.read() as tx:
        assert (await tx.connection.execute(text("SELECT hotkey FROM miners"))).scalars().all() == ["5F"]


async def test_an_upgrade_that_fails_leaves_nothing_behind(empty_store_url: str) -> None:
    parsed = parse_url(empty_store_url)
    create_file(parsed)
    engine = make_engine(parsed, pooled=False)
    async with writing(engine).begin() as connection:
        await connection.execute(text("CREATE VIEW weight_links AS SELECT 1 AS other"))
    with pytest.raises(StoreUnreachableError, match="weight_links"):
        await upgrade(empty_store_url)
    assert await schema_state(empty_store_url) == "empty"
    async with engine.connect() as connection:
        names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    await engine.dispose()
    assert names == []


async def test_nothing_is_upgraded_under_a_running_validator(empty_store_url: str) -> None:
    async with open_store(empty_store_url, writer=True, create=True):
        with pytest.raises(StoreLockedError, match="stop it first"):
            await upgrade(empty_store_url)
