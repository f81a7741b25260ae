"""Doctor's checks of the store: its database, and the rounds and weights in it."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from sssa.protocol.reasons import Reason
from sssa.protocol.text import printable
from sssa.protocol.times import format_time
from validator.chain.interface import ChainError
from validator.chain.opening import simulator
from validator.chain.probe import NoNodeError, Rpc
from validator.health.catalogue import FATAL
from validator.health.doctor.examination import (
    LIMITS,
    Finding,
    NotSeenError,
    Site,
    check,
    fault,
    note,
    ok,
    unknown,
    warning,
)
from validator.health.doctor.network_checks import nodes, simulated, simulation
from validator.health.status import disk_of
from validator.store import Transaction, open_store, schema_state
from validator.store.connections import MAKE_WRITABLE, make_engine, writing
from validator.store.engine import ROOM
from validator.store.errors import OtherStoreError, StoreDamagedError, StoreError, StoreUrlError
from validator.store.identity import require_chain, require_hotkey
from validator.store.outages import error_text
from validator.store.rows import RoundRecord, WeightsRecord
from validator.store.schema import SchemaState, require_place
from validator.store.size import FEW_DAYS, DiskUse
from validator.store.urls import StoreUrl, parse_url
from validator.weights.guard import WRONG_ROWS
from validator.weights.plan import mechanisms
from validator.weights.watch import read_stop_file, stop_file_of

_SLOW_S: Final = 0.25
_MIB: Final = 1024**2
_GIB: Final = 1024 * _MIB
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
_SERVER: Final = text(
    "SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,"
    " pg_database_size(current_database()) AS size, pg_is_in_recovery() AS standby"
)
_SAME_ROW: Final = text("UPDATE schema_version SET version_num = version_num")
_TABLE: Final = text("CREATE TABLE doctor_trial (n integer)")
_START_SERVER: Final = (
    "start the server, or correct host and port in store.url; from a container, localhost is the container"
)
_RIGHTS: Final = f"let its user write: it must own the tables; {MAKE_WRITABLE}"


@check(_START_SERVER, LIMITS.database + 8.0)
async def check_database(site: Site) -> list[Finding]:
    """Connection, version, encoding, tables, free space, and a write that is rolled back."""
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
    findings = await asyncio.to_thread(_file, url, path)
    try:
        tables = await schema_state(_revealed(url))
    except StoreDamagedError as error:
        return [fault("database", error.detail, condition="store_damaged")]
    except StoreError as error:
        return [
            fault("database", str(error), "set store.url to a file of the validator's, or to one that is not there")
        ]
    findings.append(_TABLES[tables])
    if tables != "empty":
        engine = make_engine(url, pooled=False)
        try:
            findings.append(await _written(engine))
        except DBAPIError as error:
            findings.append(fault("database write", error_text(error), condition="store_no_write"))
        finally:
            await engine.dispose()
    return findings


def _revealed(url: StoreUrl) -> str:
    return url.url.render_as_string(hide_password=False)


def _file(url: StoreUrl, path: Path) -> list[Finding]:
    size = f"{path.stat().st_size / 1024**2:.1f} MiB" if path.exists() else "not made yet"
    findings, folder = [ok("database", f"SQLite {sqlite3.sqlite_version}, {url.shown}, {size}")], path.parent
    if (kind := far_away(folder)) is not None:
        advice = "put it on a local disk: SQLite's write-ahead log does not work on network file systems"
        findings.append(warning("database", f"{printable(str(folder))} is on {kind}", advice))
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as trial:
            trial.write(bytes(ROOM))
            os.fsync(trial.fileno())
    except OSError as error:
        seen = f"{printable(str(folder))} takes no file: {error.strerror or type(error).__name__}"
        findings.append(
            fault("database write", seen, f"free space, or let user {os.getuid()} write there", "store_no_write")
        )
    free = shutil.disk_usage(folder).free
    seen = f"{free / _GIB:.1f} GiB free at {printable(str(folder))}"
    findings.append(warning("disk", seen, condition="local_disk") if free < _LITTLE else ok("disk", seen))
    return findings


async def _postgres(url: StoreUrl) -> list[Finding]:
    engine = make_engine(url, pooled=False)
    try:
        return await _query_database(url, engine)
    finally:
        await engine.dispose()


async def _query_database(url: StoreUrl, engine: AsyncEngine) -> list[Finding]:
    try:
        began = time.monotonic()
        async with engine.connect() as connection:
            connected = time.monotonic() - began
            server = (await connection.execute(_SERVER)).one()
            began = time.monotonic()
            await connection.execute(text("SELECT 1"))
            latency = time.monotonic() - began
    except DBAPIError as error:
        return [fault("database", f"{url.shown}: {error_text(error)}", _let_in(error), "store_away")]
    seen = (
        f"Postgres {server.version}, {url.shown}, {server.size / 1024**2:.1f} MiB, "
        f"{connected * 1000:.0f} ms to connect, {latency * 1000:.1f} ms an answer"
    )
    slow = warning("database", seen, "put the database nearer to the validator")
    findings = [slow if latency > _SLOW_S else ok("database", seen)]
    if server.encoding != _UTF8:
        return [*findings, fault("encoding", f"the database is {server.encoding}, not {_UTF8}", _MAKE_UTF8)]
    if server.standby:
        findings.append(fault("database write", "the server is a standby, which takes no write", "name the primary"))
    try:
        tables = await schema_state(_revealed(url))
        findings.append(_TABLES[tables])
        if not server.standby:
            findings.append(await _written(engine, made=tables != "empty"))
    except StoreError as error:
        findings.append(fault("tables", str(error), "give the validator another database"))
    except DBAPIError as error:
        findings.append(fault("database write", error_text(error), _RIGHTS, "store_no_write"))
    return findings


async def _written(engine: AsyncEngine, *, made: bool = True) -> Finding:
    """Write and roll back; the transaction is open for a moment, and no lock of the validator is taken.

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


def _let_in(error: DBAPIError) -> str:
    refusal = str(error.orig)
    return next((advice for fragment, advice in _REFUSALS.items() if fragment in refusal), _START_SERVER)


_CHAIN: Final = "chain of the store"


@check("look at the database", LIMITS.database + LIMITS.endpoint)
async def check_history(site: Site) -> list[Finding]:
    """The newest round in the store, and whether the chain is the one that the store belongs to."""
    genesis = await _genesis(site)
    belongs: Finding | None = None
    try:
        async with open_store(site.settings.store.url.reveal()) as store, store.read() as tx:
            rounds = await tx.rounds.listing(1)
            growth = _growth(await disk_of(tx, site.settings.store, datetime.now(UTC)))
            await require_chain(tx, genesis, site.settings.validator.netuid)
            if site.signer is not None:
                await require_hotkey(tx, site.signer.hotkey)
    except OtherStoreError as error:
        belongs = fault(_CHAIN, error.detail, condition="other_store")
    except StoreError:
        raise NotSeenError("needs the store, which cannot be read or has no tables yet") from None
    if not rounds:
        return [note("rounds", "none yet"), *([belongs] if belongs else [])]
    return [_newest_round(rounds[0]), growth, belongs or await _pinned(site, rounds[0])]


def _growth(disk: DiskUse) -> Finding:
    """Report the growth of the store over seven days, and when the disk is full."""
    if disk.per_day is None:
        return note("growth", "the rounds span less than 6 hours: not known yet")
    seen = f"{disk.per_day / _MIB:.1f} MiB a day over seven days"
    if disk.days_left is None:
        return ok("growth", f"{seen}; the disk is not seen from here" if disk.free is None else seen)
    seen += f"; the disk is full in {disk.days_left:.0f} days"
    return warning("growth", seen, condition="local_disk") if disk.days_left < FEW_DAYS else ok("growth", seen)


async def _genesis(site: Site) -> str | None:
    """Return the chain's genesis, lower-case hex without 0x; None if no chain can be read."""
    try:
        if site.settings.chain.kind == "simulated":
            return await simulated(site).genesis()
        good = await site.once(nodes)
    except (NotSeenError, ChainError):
        return None
    return good[0].genesis.lower().removeprefix("0x") if good else None


def _newest_round(newest: RoundRecord) -> Finding:
    when = format_time(newest.settled_at or newest.started_at)
    reason = f", {newest.reason}" if newest.reason is not None and newest.reason != newest.state else ""
    return ok("rounds", f"the newest is {newest.round_id}: {newest.state}{reason}, {when}")


async def _pinned(site: Site, newest: RoundRecord) -> Finding:
    """Compare the newest round's block with the chain's."""
    try:
        there = await _block_hash(site, newest.block)
    except NotSeenError as error:
        return unknown(_CHAIN, error.detail)
    except (NoNodeError, ChainError, TimeoutError):
        return unknown(_CHAIN, "needs the chain, which cannot be read")
    if there is None:
        seen = f"round {newest.round_id} is pinned to block {newest.block}, which the chain does not have"
        advice = f"Wait if the node catches up. Else: {FATAL['other_store'].advice}"
        return fault(_CHAIN, seen, advice, "other_store")
    if there.lower().removeprefix("0x") != newest.block_hash.lower().removeprefix("0x"):
        seen = (
            f"round {newest.round_id} is pinned to block {newest.block} {newest.block_hash[:12]}…, "
            f"the chain has {printable(there, 80)[:12]}… there"
        )
        return fault(_CHAIN, seen, condition="other_store")
    return ok(_CHAIN, f"block {newest.block} of round {newest.round_id} is on it")


async def _block_hash(site: Site, number: int) -> str | None:
    if site.settings.chain.kind == "simulated":
        with simulation():
            return simulator().block_hash(site.settings, site.clock, number)
    good = await site.once(nodes)
    if not good:
        raise NotSeenError("needs an endpoint, and none is a node that can be used")
    async with asyncio.timeout(site.limits.endpoint), Rpc(good[0].url) as rpc:
        block_hash = await rpc.ask("chain_getBlockHash", number)
    return block_hash if isinstance(block_hash, str) else None


@check("look at the database", LIMITS.database)
async def check_weights(site: Site) -> Sequence[Finding]:
    """A lock on weights, and the newest submission of each mechanism."""
    try:
        file = stop_file_of(site.settings)
    except StoreUrlError:
        return [unknown("weights", "needs store.url, which cannot be used")]
    seen = await asyncio.to_thread(read_stop_file, file)
    findings = []
    if seen is not None:
        findings.append(fault("weights", f"locked by {printable(str(file))}: {seen}", condition="weights_locked"))
    try:
        async with open_store(site.settings.store.url.reveal()) as store, store.read() as tx:
            lock = await tx.weight_guard.locked() if await tx.weight_guard.present() else None
            newest = []
            for mechid in mechanisms(site.settings.weights):
                findings += await _few_weights(tx, site.settings.validator.netuid, mechid)
                newest.append(await tx.weights.newest(site.settings.validator.netuid, mechid))
    except StoreError:
        return [*findings, unknown("weights", "needs the store, which cannot be read or has no tables yet")]
    if lock is not None and seen is None:
        findings.append(fault("weights", f"locked in the store: {lock.seen}", condition="weights_locked"))
    sent = [_newest_weights(record) for record in newest if record is not None]
    return [*findings, *(sent or [note("weights", "none were sent from this store yet")])]


async def _few_weights(tx: Transaction, netuid: int, mechid: int) -> list[Finding]:
    """Return a warning if the newest vector has fewer weights than the subnet asks for."""
    vector = await tx.vectors.newest(netuid, mechid)
    last = None if vector is None else await tx.weight_links.newest(netuid, mechid, vector.epoch)
    if vector is None or last is None or last.reason != Reason.WEIGHTS_TOO_FEW:
        return []
    seen = f"mechanism {mechid}, epoch {vector.epoch}: {Reason.WEIGHTS_TOO_FEW.meaning}"
    return [warning("weights", seen, condition="weights_too_few")]


def _newest_weights(record: WeightsRecord) -> Finding:
    when = f"{record.shown_state}, {format_time(record.updated_at)}"
    seen = f"mechanism {record.mechid}: the newest, of epoch {record.epoch}: {when}"
    if record.state == "rejected":
        seen += f": {record.message or 'no word why'}"
        return warning("weights", seen, "`validator weights plan` says what blocks it", "weights_refused")
    if record.row_state is not None and record.row_state in WRONG_ROWS:
        return warning("weights", seen, condition=WRONG_ROWS[record.row_state])
    return (note if record.row_state == "undetermined" else ok)("weights", seen)


_MOUNTS: Final = Path("/proc/self/mountinfo")
_FAR: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs"})
_FIELDS: Final = 5  # before the mount point there are four


def far_away(folder: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the kind of network file system of a folder, by Linux's mountinfo.

    None for a local one, or where unknown.
    """
    mount, kind = Path(), None
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    here = folder.resolve()
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        if len(fields) < _FIELDS or not kinds:
            continue
        point = Path(fields[4].replace("\\040", " "))
        if here.is_relative_to(point) and len(point.parts) >= len(mount.parts):
            mount, kind = point, kinds[0]
    return kind if kind in _FAR or (kind or "").startswith("fuse.sshfs") else None
