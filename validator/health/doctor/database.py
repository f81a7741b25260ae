"""The database: whether it answers, which it is, its tables, room, and whether it takes a write that leaves nothing."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from validator.health.doctor.filesystem import far_away
from validator.health.doctor.finding import Check, Finding, fault, note, ok, warning
from validator.health.doctor.site import LIMITS, Site
from validator.protocol.text import printable
from validator.store import schema_state
from validator.store.connect import make_engine, writing
from validator.store.errors import StoreDamagedError, StoreError
from validator.store.place import ROOM
from validator.store.schema import SchemaState, require_place
from validator.store.urls import StoreUrl, parse_url

_SLOW_S: Final = 0.25
_GIB: Final = 1024**3
_LITTLE: Final = 2 * _GIB
_UTF8: Final = "UTF8"
_MAKE_UTF8: Final = (
    "make another database: CREATE DATABASE validator ENCODING 'UTF8' TEMPLATE template0, and `validator db copy`"
)
_TABLES: Final[Mapping[SchemaState, Finding]] = {
    "empty": note("tables", "none yet", "nothing: `validator run` makes them"),
    "current": ok("tables", "of this program's version"),
    "behind": fault("tables", "older than this program", "stop the validator, back up, then `validator db upgrade`"),
    "ahead": fault("tables", "newer than this program", "install the version that made them, or restore a backup"),
}
# What libpq and the server say to somebody who is not let in; another language gets the general advice.
_REFUSALS: Final = {
    "password": "correct user and password in store.url, or put the password into ~/.pgpass",
    "role": "correct the user in store.url, or make it: createuser NAME",
    "pg_hba": "let this machine in by the server's pg_hba.conf",
    "does not exist": "make the database: createdb --encoding=UTF8 --template=template0 NAME",
    "too many": "raise max_connections of the server, or end what else is connected",
    "starting up": "wait: the server is starting",
    "resolve": "correct the host's name in store.url, or look at this machine's name service",
    "translate host": "correct the host's name in store.url, or look at this machine's name service",
    "timeout": "look at the network: nothing answers there, and nothing refuses; a firewall that drops looks so",
}
_SAME_ROW: Final = text("UPDATE schema_version SET version_num = version_num")
_TABLE: Final = text("CREATE TABLE doctor_trial (n integer)")
_SERVER: Final = "start the server, or correct host and port in store.url; from a container, localhost is the container"
_RIGHTS: Final = "let its user write: it must own the tables, and the server must be no standby"


class _Server(NamedTuple):
    version: str
    encoding: str
    size: int
    standby: bool


async def _look(site: Site) -> list[Finding]:
    try:
        url = parse_url(site.settings.store.url.reveal())
    except StoreError as error:
        return [fault("store.url", str(error), "correct store.url")]
    try:
        require_place(url)
    except StoreError as error:
        user = "let the user whom the validator runs as read and write it, or set another store.url"
        return [fault("database", error.detail, user)]
    return await (_sqlite(url, url.path) if url.path is not None else _postgres(url))


async def _sqlite(url: StoreUrl, path: Path) -> list[Finding]:
    found = await asyncio.to_thread(lambda: [_file(url, path), *_disk(path.parent)])
    try:
        tables = await schema_state(_whole(url))
    except StoreDamagedError as error:
        return [fault("database", error.detail, "stop everything that uses it and restore the newest backup")]
    except StoreError as error:
        return [
            fault("database", str(error), "set store.url to a file of the validator's, or to one that is not there")
        ]
    found.append(_TABLES[tables])
    if tables != "empty":
        engine = make_engine(url, pooled=False)
        try:
            found.append(await _written(engine))
        except DBAPIError as error:
            found.append(fault("database write", _said(error), "free space, or look at the rights of file and folder"))
        finally:
            await engine.dispose()
    return found


def _file(url: StoreUrl, path: Path) -> Finding:
    size = f"{path.stat().st_size / 1024**2:.1f} MiB" if path.exists() else "not made yet"
    return ok("database", f"SQLite {sqlite3.sqlite_version}, {url.shown}, {size}")


def _whole(url: StoreUrl) -> str:
    return url.url.render_as_string(hide_password=False)


def _disk(folder: Path) -> list[Finding]:
    found = []
    if (kind := far_away(folder)) is not None:
        advice = "put it on a local disk: SQLite's write-ahead log does not work on network file systems"
        found.append(warning("database", f"{printable(str(folder))} is on {kind}", advice))
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as trial:
            trial.write(bytes(ROOM))
            os.fsync(trial.fileno())
    except OSError as error:
        seen = f"{printable(str(folder))} takes no file: {error.strerror or type(error).__name__}"
        found.append(fault("database write", seen, f"free space, or let user {os.getuid()} write there"))
    free = shutil.disk_usage(folder).free
    seen = f"{free / _GIB:.1f} GiB free where {printable(str(folder))} lies"
    found.append(
        warning("disk", seen, "make room, or lower store.retention_raw_days") if free < _LITTLE else ok("disk", seen)
    )
    return found


async def _postgres(url: StoreUrl) -> list[Finding]:
    # What a database of another encoding says can be read all the same.
    engine = make_engine(replace(url, url=url.url.update_query_dict({"client_encoding": "utf8"})), pooled=False)
    try:
        began = time.monotonic()
        async with engine.connect() as connection:
            connected = time.monotonic() - began
            server = await _server(connection)
            began = time.monotonic()
            await connection.execute(text("SELECT 1"))
            latency = time.monotonic() - began
    except DBAPIError as error:
        await engine.dispose()
        return [fault("database", f"{url.shown}: {_said(error)}", _let_in(error))]
    seen = (
        f"Postgres {server.version}, {url.shown}, {server.size / 1024**2:.1f} MiB, "
        f"{connected * 1000:.0f} ms to connect, {latency * 1000:.1f} ms an answer"
    )
    slow = warning("database", seen, "put the database nearer to the validator")
    found = [slow if latency > _SLOW_S else ok("database", seen)]
    if server.encoding != _UTF8:
        await engine.dispose()
        return [*found, fault("encoding", f"the database is {server.encoding}, not {_UTF8}", _MAKE_UTF8)]
    if server.standby:
        found.append(fault("database write", "the server is a standby, which takes no write", "name the primary"))
    try:
        tables = await schema_state(_whole(url))
        found.append(_TABLES[tables])
        if not server.standby:
            found.append(await _written(engine, made=tables != "empty"))
    except StoreError as error:
        found.append(fault("tables", str(error), "give the validator a database of its own"))
    except DBAPIError as error:
        found.append(fault("database write", _said(error), _RIGHTS))
    finally:
        await engine.dispose()
    return found


async def _server(connection: AsyncConnection) -> _Server:
    row = (
        await connection.execute(
            text(
                "SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,"
                " pg_database_size(current_database()) AS size, pg_is_in_recovery() AS standby"
            )
        )
    ).one()
    return _Server(printable(row.version, 40), printable(row.encoding, 40), int(row.size), bool(row.standby))


async def _written(engine: AsyncEngine, *, made: bool = True) -> Finding:
    """Write for real and take it back; the transaction is open for a moment, and no lock of the validator's is taken.

    What is written is the row of the tables' version as it is, or a table where there is none yet.
    """
    trial = _SAME_ROW if made else _TABLE
    began = time.monotonic()
    async with writing(engine).connect() as connection:
        if engine.dialect.name == "postgresql":
            await connection.execute(text("SET LOCAL lock_timeout = '5s'"))
        await connection.execute(trial)
        await connection.rollback()
    return ok("database write", f"takes one, taken back again, {(time.monotonic() - began) * 1000:.0f} ms")


def _said(error: DBAPIError) -> str:
    return printable(" ".join(str(error.orig).split()), 300)


def _let_in(error: DBAPIError) -> str:
    said = str(error.orig)
    return next((advice for words, advice in _REFUSALS.items() if words in said), _SERVER)


CHECK: Final = Check(
    "database",
    "Whether it answers, its version and encoding, its tables, room for it, a write that is taken back.",
    _SERVER,
    LIMITS.database + 8.0,
    _look,
)
