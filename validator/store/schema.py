"""Schema versions: the tables that a database has, and migrations to this version, for `db upgrade` (Alembic)."""

import os
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, Literal

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from sssa.files import why
from sssa.protocol.text import printable
from sssa.sources import SystemClock
from validator.store.connections import (
    MAKE_WRITABLE,
    READ_ONLY,
    Handles,
    create_file,
    make_engine,
    reading,
    use_wal,
    writing,
)
from validator.store.errors import (
    SchemaStateError,
    StoreDamagedError,
    StoreEncodingError,
    StoreError,
    StoreNoWriteError,
    StoreUnreachableError,
)
from validator.store.locks import take_lock, take_turn
from validator.store.urls import StoreUrl, parse_url

SchemaState = Literal["empty", "current", "behind", "ahead"]
MigrationListener = Callable[[str, float], None]

_PACKAGE: Final = Path(__file__).parents[1]
# A wheel brings the migrations inside the package; in a clone they are next to it.
MIGRATIONS: Final = (_PACKAGE if (_PACKAGE / "migrations").is_dir() else _PACKAGE.parent) / "migrations"
VERSION_TABLE: Final = "schema_version"


def _ignore_migration(_revision: str, _seconds: float) -> None:
    """Report nothing about a migration."""


async def upgrade(url: str, on_migration: MigrationListener = _ignore_migration) -> SchemaState:
    """Bring the database to this version's tables, making them if there are none; return the state before.

    The whole upgrade is one transaction. `on_migration` is called in the loop's thread with each migration and the
    seconds that it took, at last with `references`: the check of those on SQLite.

    Raises:
        StoreUrlError, StoreUnreachableError: no such database.
        StoreLockedError: a validator writes to it: stop it first.
        SchemaStateError: it is ahead: this program is older than the tables.
    """
    parsed = parse_url(url)
    require_place(parsed)
    try:
        lock = await take_lock(parsed)
        try:
            return await upgrade_unlocked(parsed, on_migration=on_migration)
        finally:
            await lock.release()
    except (DBAPIError, OSError) as error:
        raise unreachable(parsed, error) from None


async def schema_state(url: str) -> SchemaState:
    """Return how the tables relate to this version's: `empty`, `current`, `behind`, or `ahead` (this program is older).

    Raises:
        StoreUrlError, StoreUnreachableError: no such database.
    """
    parsed = parse_url(url)
    require_place(parsed)
    engine = make_engine(parsed, pooled=False)
    try:
        return await state_of(parsed, engine)
    except (DBAPIError, OSError) as error:
        raise unreachable(parsed, error) from None
    finally:
        await engine.dispose()


async def state_of(url: StoreUrl, engine: AsyncEngine) -> SchemaState:
    """Return the state; a SQLite file that is not there is empty, and is not made."""
    if url.path is not None and not url.path.exists():
        return "empty"
    async with reading(engine).begin() as connection:
        return await connection.run_sync(_state)


async def upgrade_unlocked(
    url: StoreUrl, on_migration: MigrationListener = _ignore_migration, handles: Handles | None = None
) -> SchemaState:
    """Upgrade without taking the writer lock: the caller holds it, or accepts that nobody does."""
    engine = make_engine(url, foreign_keys=False, pooled=False, handles=handles)
    try:
        await state_of(url, engine)  # a database of others is refused before anything of it is changed
        create_file(url)
        await use_wal(url)
        return await _upgrade(engine, on_migration)
    finally:
        await engine.dispose()


def require_place(url: StoreUrl) -> None:
    """Refuse a SQLite path that cannot hold a store, before a connection is tried (StoreUnreachableError).

    aiosqlite leaves a thread behind when it cannot open its file, so that is found out first.
    """
    path = url.path
    if path is None:
        return
    if not path.parent.is_dir():
        raise StoreUnreachableError(f"{url.shown}: the folder {printable(str(path.parent))} does not exist; make it")
    # Never open the file here: closing it would drop the locks that SQLite holds on it in this process.
    if path.exists() and not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        raise StoreUnreachableError(f"{url.shown}: not a file that can be read and written")


def unreachable(url: StoreUrl, error: DBAPIError | OSError) -> StoreError:
    """Return the error for a database that cannot be used, without the statement or its parameters."""
    cause = error.orig if isinstance(error, DBAPIError) else why(error)
    message = f"{url.shown}: {printable(' '.join(str(cause).split()))}"  # Postgres says it in several lines
    if getattr(cause, "sqlstate", None) == READ_ONLY:
        return StoreNoWriteError(f"{message}; {MAKE_WRITABLE}")
    match getattr(cause, "sqlite_errorcode", 0):
        case sqlite3.SQLITE_CORRUPT:
            return StoreDamagedError(message)
        case sqlite3.SQLITE_FULL:
            return StoreNoWriteError(f"{message}; free some space there")
        case _:
            return StoreUnreachableError(message)


async def _upgrade(engine: AsyncEngine, on_migration: MigrationListener) -> SchemaState:
    async with writing(engine).begin() as connection:
        await take_turn(connection)
        state = await connection.run_sync(_state)
        if state == "ahead":
            raise SchemaStateError(
                "they are newer than this program; install the version that made them, or a newer one"
            )
        if state != "current":
            await connection.run_sync(migrate, MIGRATIONS, on_migration)
        return state


@cache
def revisions() -> tuple[str, ...]:
    """Return every revision, oldest first, by the names of the files (SchemaStateError: they are missing).

    Asking Alembic takes longer than a listing.
    """
    names = sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("r*.py"))
    if not names:
        raise SchemaStateError(
            f"the program's migrations are missing in {printable(str(MIGRATIONS))}; install it again"
        )
    return tuple(names)


def _require_encoding(connection: Connection) -> None:
    """Refuse a Postgres database that cannot hold every text: what miners are called and say would fail in a round."""
    if connection.dialect.name != "postgresql":
        return
    name = str(connection.exec_driver_sql("SHOW server_encoding").scalar_one())
    if name != "UTF8":
        raise StoreEncodingError(
            f"the database's encoding is {printable(name, 40)}, not UTF8; make one with"
            " CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def _state(connection: Connection) -> SchemaState:
    _require_encoding(connection)
    there = inspect(connection)
    known = text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - a constant of ours
    stored = set(connection.scalars(known)) if there.has_table(VERSION_TABLE) else set()
    if not stored:
        if foreign := sorted(set(there.get_table_names()) - {VERSION_TABLE}):
            raise SchemaStateError(f"the database holds tables that are not ours ({printable(', '.join(foreign), 80)})")
        return "empty"
    if stored == {revisions()[-1]}:
        return "current"
    return "behind" if stored <= set(revisions()) else "ahead"


def migrate(connection: Connection, folder: Path, on_migration: MigrationListener = _ignore_migration) -> None:
    """Take every step that the database lacks, in the caller's transaction (SchemaStateError)."""
    from alembic import command  # noqa: PLC0415 - Alembic takes longer to import than a listing
    from alembic.config import Config  # noqa: PLC0415

    since = SystemClock().monotonic()

    def took(name: str) -> None:
        nonlocal since
        now = SystemClock().monotonic()
        on_migration(name, now - since)
        since = now

    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["on_version_apply"] = lambda *, step, **_: took(step.up_revision_id)
    command.upgrade(config, "head")
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise SchemaStateError(f"the upgrade would break a reference of table {broken[0]}; nothing was changed")
        took("references")
