"""Doctor's checks of this machine: memory, descriptors, disk space, the running process, the container engine."""

import asyncio
import errno
import os
import platform
import resource
import socket
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MIB
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.text import printable
from sssa.scoring import VERSIONS
from validator import __version__
from validator.chain.clockwatch import ClockWatch
from validator.health.catalogue import CONDITIONS
from validator.health.client import ask_health
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
from validator.health.doctor.network_checks import seen_subnet
from validator.rounds.prepare import schedule_of
from validator.rounds.readiness import round_checks, spool_folder
from validator.sandbox.engine import Engine, EngineAwayError, EngineError, lacks
from validator.settings.model import HealthSettings
from validator.store.connections import LOCK_CLASS, LOCK_WRITE, make_engine
from validator.store.errors import StoreError
from validator.store.locks import LET_OPEN, lock_file
from validator.store.urls import StoreUrl, parse_url

_CORE: Final = 512 * MIB  # a worker of each, and what judging one answer may take beyond its start
_CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
_MEMINFO: Final = Path("/proc/meminfo")
_RESTING: Final = 24  # descriptors of a daemon between rounds, and two for each of its workers
_TEMPORARY: Final = "make the folder and let this user write there, or name another one in TMPDIR"
_LIBRARIES: Final = "bittensor", "SQLAlchemy", "aiohttp"


@check("look at the machine's load and disks", LIMITS.whole)
async def check_machine(site: Site) -> list[Finding]:
    """Versions, memory for the workers, file descriptors and disk space for a round on this subnet."""
    findings = [_versions(), *_memory(), *_temporary(site.environ)]
    try:
        snapshot = (await seen_subnet(site)).snapshot
        findings += await asyncio.to_thread(lambda: list(_round(site, snapshot)))
    except NotSeenError as error:
        findings += [unknown("file descriptors", error.detail), unknown("disk for a round", error.detail)]
    return findings


def _versions() -> Finding:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {_cores()} cores"
    return ok("versions", f"validator {__version__}, scoring {', '.join(VERSIONS)}, {libraries}, {system}")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> Iterator[Finding]:
    """Compare what the validator and all workers may need at once with what the machine or the container has."""
    there, need = _memory_there(), (_cores() + 2) * _CORE
    if there is None:
        return
    parts = "1 GiB, and 0.5 for each core"
    seen = f"{there // MIB} MiB, of which {need // MIB} MiB may be needed while all workers judge at once ({parts})"
    if there < need:
        yield warning("memory", seen, "give the machine or the container more memory, or fewer cores")
    else:
        yield ok("memory", seen)


def _memory_there() -> int | None:
    findings = []
    try:
        findings.append(int(_MEMINFO.read_text(encoding="ascii").split()[1]) * 1024)
        findings.append(int(_CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError, IndexError):
        pass
    return min(findings, default=None)


def _temporary(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Compare the folder of temporary files with the one that the environment names."""
    try:
        used = spool_folder()
    except OSError as error:
        yield fault("temporary files", error.strerror or type(error).__name__, _TEMPORARY)
        return
    name = next((one for one in ("TMPDIR", "TEMP", "TMP") if environ.get(one)), None)
    if name is not None and Path(environ[name]).resolve() != used.resolve():
        yield warning("temporary files", f"{name}={printable(environ[name])} takes none; {used} is used", _TEMPORARY)


def _round(site: Site, snapshot: MetagraphSnapshot) -> Iterator[Finding]:
    """Make the daemon's checks before a round (SPEC 16, D-26); the clock is another check's."""
    try:
        clock, *others = round_checks(
            site.settings, schedule_of(site.settings), ClockWatch(site.clock), _RESTING + 2 * _cores()
        )
    except ValidatorError:
        return
    del clock
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    shown = (f"{limit} in this shell; a service has its own limit", f"enough in {spool_folder()} and at the store")
    for about, missing_in, fine in zip(("file descriptors", "disk for a round"), others, shown, strict=True):
        missing = missing_in(snapshot)
        if missing is None:
            yield ok(about, fine)
        else:
            yield fault(about, missing.detail, condition=missing.reason)


_ASK_S: Final = 3.0
_LOCKS: Final = Path("/proc/locks")
_HOLDER: Final = 100  # characters
_HEALTH: Final = "`validator health` has its conditions, each with advice"
_NO_ANSWER: Final = "no answer"
_OTHER_PORT: Final = "if a validator of yours runs there, set its health.token; else set health.host and health.port"
_ONE_WRITER: Final = "find it: only one validator may write to a store; if it is meant to run, this is as it should be"


@check("look at the machine's load", LIMITS.database + 2.0)
async def check_process(site: Site) -> list[Finding]:
    """A running validator with these settings: its state, its port, and the writers of the store."""
    (answers, health), who = await asyncio.gather(
        asyncio.to_thread(_health, site.settings.health), _writer(site, site.limits.database)
    )
    if isinstance(who, Finding) or not who:
        return [health, who or ok("writer", "no validator writes to the store")]
    alone = warning("writer", f"{who}, and no health report answers here", _ONE_WRITER, "store_in_use")
    return [health, ok("writer", who) if answers else alone]


def _health(settings: HealthSettings) -> tuple[bool, Finding]:
    """Return whether a validator answers at the health port, and the finding about it."""
    if settings.port == 0:
        return False, _any_port(settings)
    answer = ask_health(settings, _ASK_S)
    if answer.report is not None:
        answered = f"{answer.address}: a validator answers: {answer.status}"
        if not answer.healthy:
            return True, fault("running", answered, _HEALTH)
        fine = answer.report.get("status") == "ok"
        return True, ok("running", answered) if fine else warning("running", answered, _HEALTH)
    if not answer.status.startswith(_NO_ANSWER):
        return False, fault("health port", f"{answer.address}: {answer.status}", _OTHER_PORT)
    problem = _taken(settings)
    if problem is None:
        return False, ok("health port", f"{answer.address} is free: no validator runs with these settings here")
    return False, fault(
        "health port", f"{answer.address}: {problem}", "set health.host and health.port to a free address"
    )


def _any_port(settings: HealthSettings) -> Finding:
    if (problem := _taken(settings)) is not None:
        return fault("health port", f"{settings.host}: {problem}", "set health.host to an address of this machine")
    return note("health port", "any free one (health.port = 0): nobody can ask this validator how it is")


def _taken(settings: HealthSettings) -> str | None:
    """Return why the port cannot be bound, None if it can. It is bound for a moment and never listens."""
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
    """Return who writes to the store, empty for nobody; a finding if that cannot be determined."""
    try:
        url = parse_url(site.settings.store.url.reveal())
        if url.path is not None:
            return await asyncio.to_thread(_file_writer, url.path)
        async with asyncio.timeout(limit_s):
            return await _session(url)
    except (StoreError, DBAPIError, TimeoutError):
        return unknown("writer", "needs the database, which does not answer")


def _file_writer(path: Path) -> str | Finding:
    """Return the holder of the store's lock file without taking it: the kernel lists all locks."""
    lock = lock_file(path)
    try:
        with lock.open("r+", encoding="ascii", errors="replace") as file:
            inode, holder = os.fstat(file.fileno()).st_ino, file.readline(_HOLDER).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return fault("writer", f"{printable(str(lock))}: {error.strerror or type(error).__name__}", LET_OPEN)
    try:
        held = [line.split() for line in _LOCKS.read_text(encoding="ascii").splitlines() if "FLOCK" in line]
    except OSError as error:
        return unknown("writer", f"{_LOCKS}: {error.strerror}: nothing says who holds {printable(str(lock))}")
    if not any(fields[5].rpartition(":")[2] == str(inode) for fields in held):
        return ""
    return f"process {holder} writes to it" if holder.isdecimal() else "a process writes to it"


async def _session(url: StoreUrl) -> str:
    engine = make_engine(url, pooled=False)
    try:
        async with engine.connect() as connection:
            findings = (
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
    if findings is None:
        return ""
    return f"session {findings.pid} from {printable(findings.host or 'this machine', 60)} writes to it"


@check(CONDITIONS["sandbox_away"].advice, LIMITS.engine + 2.0)
async def check_engine(site: Site) -> list[Finding]:
    """The container engine that runs answers again: reachable, and able to hold every limit."""
    sandbox = site.settings.sandbox
    host = sandbox.engine or site.environ.get("DOCKER_HOST")
    if not host:
        return [note("engine", "none: whether miners ran what they attest stays unseen", condition="executions_off")]
    shown = printable(host, 100)
    engine = Engine(host, call_s=site.limits.engine)
    try:
        info = await engine.info()
    except EngineAwayError as error:
        return [fault("engine", f"{shown}: {error.detail}", condition="sandbox_away")]
    except EngineError as error:
        return [fault("engine", f"{shown}: {error}", "look into the engine's log", "sandbox_away")]
    finally:
        await engine.close()
    if missing := lacks(info, sandbox.runtime):
        advice = "set the engine up as its manual says: cgroups with memory, pids and cpu, the default seccomp profile"
        return [fault("engine", f"{shown} lacks {', '.join(missing)}", advice, "sandbox_away")]
    version, runtime = printable(str(info.get("ServerVersion")), 40), sandbox.runtime or info.get("DefaultRuntime")
    return [ok("engine", f"{shown}: version {version}, runtime {printable(str(runtime), 40)}")]
