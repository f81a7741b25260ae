from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from store_migrating import migrate_to

from validator.protocol.skill_types import SkillType
from validator.store import Store, open_store, schema_state, upgrade
from validator.store.connect import create_file, make_engine, writing
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


@pytest.mark.parametrize("revision", ["r0001", "r0002", "r0003", "r0004", "r0007"])
async def test_every_older_version_can_be_upgraded_and_keeps_its_rows(empty_store_url: str, revision: str) -> None:
    await migrate_to(empty_store_url, revision)
    parsed = parse_url(empty_store_url)
    engine = make_engine(parsed, pooled=False)
    async with writing(engine).begin() as connection:
        await connection.execute(text("INSERT INTO miners VALUES ('5F', 1, 2, 3)"))
    await engine.dispose()
    assert await upgrade(empty_store_url) == "behind"
    async with open_store(empty_store_url) as store, store.read() as tx:
        assert [row.hotkey for row in await tx.connection.execute(text("SELECT hotkey FROM miners"))] == ["5F"]
        assert await tx.connection.run_sync(_differences) == []


async def test_each_step_is_told_with_its_time_and_none_where_nothing_is_to_be_done(empty_store_url: str) -> None:
    told: list[tuple[str, float]] = []
    await migrate_to(empty_store_url, "r0012")
    await upgrade(empty_store_url, lambda step, seconds: told.append((step, seconds)))
    looked_through = ("references",) if empty_store_url.startswith("sqlite") else ()
    assert tuple(step for step, _ in told) == (*revisions()[12:], *looked_through)
    assert all(0 < seconds < 60 for _, seconds in told)
    told.clear()
    await upgrade(empty_store_url, lambda step, seconds: told.append((step, seconds)))
    assert told == []


async def test_weights_of_older_versions_that_may_have_left_are_unknown(empty_store_url: str) -> None:
    await migrate_to(empty_store_url, "r0004")
    engine = make_engine(parse_url(empty_store_url), pooled=False)
    async with writing(engine).begin() as connection:
        for number, state in enumerate(("prepared", "confirmed")):
            await connection.execute(
                text(
                    "INSERT INTO weight_submissions (id, netuid, mechid, epoch, state, block, vector, scores,"
                    f" unallocated, created_at, updated_at) VALUES ({number}, 1, 0, {number}, '{state}', 14, '{{}}',"
                    " '{}', 0.5, '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
                )
            )
    await engine.dispose()
    await upgrade(empty_store_url)
    async with open_store(empty_store_url) as store, store.read() as tx:
        sent, taken = await tx.weights.get(0), await tx.weights.get(1)
    assert sent is not None
    assert taken is not None
    assert (sent.state, sent.attempts, sent.signed_block, sent.lifetime, sent.block) == ("unknown", 1, 14, 128, None)
    assert (taken.state, taken.attempts, taken.block, taken.sent) == ("confirmed", 1, 14, None)


async def test_an_upgrade_that_fails_leaves_nothing_behind(empty_store_url: str) -> None:
    parsed = parse_url(empty_store_url)
    create_file(parsed)
    engine = make_engine(parsed, pooled=False)
    async with writing(engine).begin() as connection:
        await connection.execute(text("CREATE VIEW window_entries AS SELECT 1 AS other"))
    with pytest.raises(StoreUnreachableError, match="window_entries"):
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


async def test_what_older_versions_gave_is_counted_from_their_latest_rounds(empty_store_url: str) -> None:
    await migrate_to(empty_store_url, "r0008")
    engine = make_engine(parse_url(empty_store_url), pooled=False)
    given = [(0, "old", "none"), (10_000, "a", "none"), (10_000, "made", "canary"), (10_001, "a", "curated")]
    async with writing(engine).begin() as connection:
        for round_id in (0, 10_000, 10_001):
            await connection.execute(
                text(
                    "INSERT INTO rounds (round_id, epoch, block, block_hash, state, started_at, task_count,"
                    f" dispatch_count) VALUES ({round_id}, 1, 1, 'aa', 'void', '2026-01-01 00:00:00', 1, 0)"
                )
            )
        for position, (round_id, source, provenance) in enumerate(given):
            await connection.execute(
                text(
                    "INSERT INTO tasks (round_id, task_id, position, skill_type, slot, source_sha256, bundle_sha256,"
                    f" nonce, provenance, mode, state) VALUES ({round_id}, 't{position}', {position}, 'mcp_server', 0,"
                    f" '{source}', 'b', 'n', '{provenance}', 'skip', 'void')"
                )
            )
    await engine.dispose()
    await upgrade(empty_store_url)
    async with open_store(empty_store_url) as store, store.read() as tx:
        assert await tx.given_tasks.counts(SkillType.MCP_SERVER, ["old", "a", "made"]) == {"a": 2}
        assert await tx.given_tasks.recent(SkillType.MCP_SERVER, 9) == ["a"]
