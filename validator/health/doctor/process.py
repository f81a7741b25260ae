"""Whether a validator runs with these settings, and whether one could: its port, and who writes to the store."""

import asyncio
import errno
import socket
from pathlib import Path
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from validator.health.client import ask_health
from validator.health.doctor.finding import Check, Finding, fault, note, ok, unknown, warning
from validator.health.doctor.site import LIMITS, Site
from validator.protocol.text import printable
from validator.settings import HealthSettings
from validator.store.connect import LOCK_CLASS, LOCK_WRITE, make_engine
from validator.store.errors import StoreError
from validator.store.urls import StoreUrl, parse_url

_ASK_S: Final = 3.0
_LOCKS: Final = Path("/proc/locks")
_HEALTH: Final = "`validator health` has its conditions, each with advice"
_NO_ANSWER: Final = "no answer"
_OTHER: Final = "if a validator of yours runs there, set its health.token; else set health.host and health.port"
_ONE: Final = "find it: only one validator may write to a store; if it is meant to run, this is as it should be"


async def _look(site: Site) -> list[Finding]:
    (answers, health), who = await asyncio.gather(
        asyncio.to_thread(_health, site.settings.health), _writer(site, site.limits.database)
    )
    if isinstance(who, Finding) or not who:
        return [health, who or ok("writer", "no validator writes to the store")]
    alone = warning("writer", f"{who}, and no health report answers here", _ONE)
    return [health, ok("writer", who) if answers else alone]


def _health(settings: HealthSettings) -> tuple[bool, Finding]:
    """Return whether a validator answers at the health port, and what is to be said of it."""
    if settings.port == 0:
        return False, note("health port", "any free one (health.port = 0): nobody can ask this validator how it is")
    answer = ask_health(settings, _ASK_S)
    if answer.report is not None:
        said = f"{answer.address}: a validator answers: {answer.status}"
        if not answer.healthy:
            return True, fault("running", said, _HEALTH)
        fine = answer.report.get("status") == "ok"
        return True, ok("running", said) if fine else warning("running", said, _HEALTH)
    if not answer.status.startswith(_NO_ANSWER):
        return False, fault("health port", f"{answer.address}: {answer.status}", _OTHER)
    problem = _taken(settings)
    if problem is None:
        return False, ok("health port", f"{answer.address} is free: no validator runs with these settings here")
    return False, fault(
        "health port", f"{answer.address}: {problem}", "set health.host and health.port to a free address"
    )


def _taken(settings: HealthSettings) -> str | None:
    """Return why the port cannot be had, None if it can. It is bound for a moment and never listens."""
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return "another program listens there"
        return error.strerror or "no such address"
    return None


async def _writer(site: Site, limit_s: float) -> str | Finding:
    """Return who writes to the store, empty for nobody; a finding where that cannot be told."""
    try:
        url = parse_url(site.settings.store.url.reveal())
        if url.path is not None:
            return await asyncio.to_thread(_file_writer, url.path)
        async with asyncio.timeout(limit_s):
            return await _session(url)
    except (StoreError, DBAPIError, TimeoutError):
        return unknown("writer", "needs the database, which does not answer")


def _file_writer(path: Path) -> str:
    """Return who holds the lock beside the file, without touching it: the kernel lists all locks."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        inode = lock.stat().st_ino
        held = [line.split() for line in _LOCKS.read_text(encoding="ascii").splitlines() if "FLOCK" in line]
        holder = lock.read_text(encoding="ascii", errors="replace").partition("\n")[0]
    except OSError:
        return ""
    if not any(fields[5].rpartition(":")[2] == str(inode) for fields in held):
        return ""
    return f"process {holder} writes to it" if holder.isdecimal() else "a process writes to it"


async def _session(url: StoreUrl) -> str:
    engine = make_engine(url, pooled=False)
    try:
        async with engine.connect() as connection:
            found = (
                await connection.execute(
                    text(
                        "SELECT pid, client_addr::text AS host FROM pg_locks JOIN pg_stat_activity USING (pid)"
                        " WHERE locktype = 'advisory' AND granted AND classid = :class AND objid <> :write"
                        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1"
                    ),
                    {"class": LOCK_CLASS, "write": LOCK_WRITE},
                )
            ).first()
    finally:
        await engine.dispose()
    if found is None:
        return ""
    return f"session {found.pid} from {printable(found.host or 'this machine', 60)} writes to it"


CHECK: Final = Check(
    "process",
    "Whether a validator runs with these settings and how it is, its port, who writes to the store.",
    "look at the machine's load",
    LIMITS.database + 2.0,
    _look,
)
