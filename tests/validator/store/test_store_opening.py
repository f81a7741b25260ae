import asyncio
import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import text

from sssa.protocol.canonical import sha256_hex
from validator.store import Store, open_store, schema_state, upgrade
from validator.store.errors import (
    SchemaStateError,
    StoreError,
    StoreUnreachableError,
    StoreUrlError,
)
from validator.store.urls import parse_url


async def _set_version(url: str, version: str) -> None:
    async with open_store(url) as store, store.begin() as tx:
        await tx.connection.execute(text("UPDATE schema_version SET version_num = :v"), {"v": version})


async def test_an_empty_database_is_refused_unless_it_may_be_created(empty_store_url: str) -> None:
    with pytest.raises(SchemaStateError, match="validator db upgrade"):
        await open_store(empty_store_url)
    assert await schema_state(empty_store_url) == "empty"
    async with open_store(empty_store_url, create=True) as store, store.read() as tx:
        assert await tx.rounds.next_id() == 0
    assert await schema_state(empty_store_url) == "current"


async def test_tables_of_a_newer_version_are_refused(empty_store_url: str) -> None:
    await upgrade(empty_store_url)
    await _set_version(empty_store_url, "r9999")
    assert await schema_state(empty_store_url) == "ahead"
    for create in (False, True):
        with pytest.raises(SchemaStateError, match="validator db upgrade"):
            await open_store(empty_store_url, create=create)


async def test_a_newer_database_is_not_upgraded(empty_store_url: str) -> None:
    await upgrade(empty_store_url)
    await _set_version(empty_store_url, "r9999")
    with pytest.raises(SchemaStateError, match="newer than this program"):
        await upgrade(empty_store_url)


async def test_a_file_that_is_only_looked_at_is_not_made(empty_sqlite_url: str, tmp_path: Path) -> None:
    assert await schema_state(empty_sqlite_url) == "empty"
    with pytest.raises(SchemaStateError):
        await open_store(empty_sqlite_url)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - a listing, not a walk


@pytest.mark.parametrize(
    "url",
    [
        "store.sqlite",
        "",
        "mysql://me:hunter2@host/db",
        "postgres://me:hunter2@host/db",
        "postgresql+asyncpg://me:hunter2@host/db",
        "postgresql://me:hunter2@host",
        "postgresql://me:pass@hunter2@host/db",
        "postgresql://me:hunter2@host:port/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=ro",
        "sqlite:///x.sqlite?mode=ro",
        "sqlite://host/x.sqlite",
    ],
)
async def test_other_urls_are_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(StoreUrlError) as caught:
        await open_store(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_both_spellings_of_each_database_mean_the_same() -> None:
    assert parse_url("sqlite:///a.sqlite") == parse_url("sqlite+aiosqlite:///a.sqlite")
    assert parse_url("postgresql://u@h/d") == parse_url("postgresql+psycopg://u@h/d")


@pytest.mark.parametrize(
    "url", ["postgresql://me:hunter2@127.0.0.1:1/db", "postgresql:///db?host=127.0.0.1&port=1&password=hunter2"]
)
async def test_no_password_shows_when_postgres_is_away(url: str) -> None:
    assert "hunter2" not in repr(parse_url(url))
    for attempt in (open_store(url), open_store(url, writer=True), schema_state(url), upgrade(url)):
        with pytest.raises(StoreUnreachableError) as caught:
            await attempt
        assert "hunter2" not in str(caught.value)
        assert "/db" in str(caught.value)


async def test_a_store_shows_neither_user_nor_password(empty_postgres_url: str) -> None:
    secret = empty_postgres_url.replace("postgres:@", "postgres:hunter2@")
    assert secret != empty_postgres_url
    async with open_store(secret, create=True) as store:
        assert "hunter2" not in repr(store) + store.location
        assert "postgres:" not in store.location


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachableError, match="nowhere does not exist"):
        await open_store(f"sqlite:///{tmp_path}/nowhere/store.sqlite", create=True)


async def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"these are my notes" * 100)
    (tmp_path / "folder").mkdir()
    for name in ("notes", "folder"):
        url = f"sqlite:///{tmp_path}/{name}"
        for attempt in (open_store(url, create=True), open_store(url, writer=True), schema_state(url), upgrade(url)):
            with pytest.raises(StoreUnreachableError, match=name):
                await attempt
    assert (tmp_path / "notes").read_bytes() == b"these are my notes" * 100


async def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(StoreUnreachableError, match="damaged: file is not a database"):
        await open_store(f"sqlite:///{tmp_path}/damaged", create=True)


async def test_sqlite_is_durable_private_and_checked(empty_sqlite_url: str, tmp_path: Path) -> None:
    async with open_store(empty_sqlite_url, create=True) as store, store.begin() as tx:
        pragmas = {
            name: (await tx.connection.execute(text(f"PRAGMA {name}"))).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "locking_mode")
        }
    full = 2
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": full,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
        "locking_mode": "normal",
    }
    assert stat.S_IMODE((tmp_path / "store.sqlite").stat().st_mode) == 0o600


async def test_a_server_that_is_away_is_told_in_one_line() -> None:
    with pytest.raises(StoreUnreachableError) as caught:
        await open_store("postgresql://me:hunter2@127.0.0.1:1/db")
    assert "refused" in str(caught.value)
    assert not [word for word in ("hunter2", r"\u000a", "\n") if word in str(caught.value)]


async def test_closing_twice_is_harmless(empty_store_url: str) -> None:
    store = await open_store(empty_store_url, writer=True, create=True)
    await store.close()
    await store.close()
    async with open_store(empty_store_url, writer=True):
        pass


async def test_a_transaction_is_not_nested(empty_store_url: str) -> None:
    async with open_store(empty_store_url, create=True) as store, store.begin():
        with pytest.raises(StoreError, match="already"):
            async with store.begin():
                pass


async def test_a_database_can_be_copied_while_it_is_written(empty_sqlite_url: str, tmp_path: Path) -> None:
    async with open_store(empty_sqlite_url, writer=True, create=True) as store, store.begin() as tx:
        await tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32))
        with sqlite3.connect(tmp_path / "store.sqlite") as source, sqlite3.connect(tmp_path / "copy.sqlite") as copy:
            source.backup(copy)
        source.close()
        copy.close()
    assert await schema_state(f"sqlite:///{tmp_path}/copy.sqlite") == "current"


async def test_a_database_of_others_is_not_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "cookies.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE cookies (name TEXT)")
    connection.close()
    before = file.read_bytes()
    for attempt in (upgrade, schema_state, open_store):
        with pytest.raises(SchemaStateError, match="cookies"):
            await attempt(f"sqlite:///{file}")
    assert file.read_bytes() == before


async def test_a_reader_at_the_door_does_not_keep_the_writer_out(empty_sqlite_url: str) -> None:
    """Looking at an empty file never locks out anyone who makes the tables."""

    async def look() -> None:
        for _ in range(30):
            with suppress(SchemaStateError, StoreUnreachableError):
                store = await open_store(empty_sqlite_url)
                await store.close()

    async def make() -> None:
        async with open_store(empty_sqlite_url, writer=True, create=True) as store, store.read() as tx:
            assert await tx.rounds.next_id() == 0

    await asyncio.gather(look(), look(), make())


async def test_reads_one_after_the_other_share_a_connection(store: Store) -> None:
    # Each connection keeps pages and statements of its own: what all of a pool keep grows for hours.
    async with store.read(), store.read(), store.read():
        pass
    seen = set()
    for _ in range(6):
        async with store.read() as tx:
            seen.add(id((await tx.connection.get_raw_connection()).driver_connection))
    assert len(seen) == 1
