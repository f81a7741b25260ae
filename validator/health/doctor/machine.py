"""This machine: versions, file descriptors, disk space for a round, memory for the workers."""

import asyncio
import os
import platform
import resource
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from validator import __version__
from validator.chain.clockwatch import ClockWatch
from validator.health.catalogue import CONDITIONS
from validator.health.doctor.finding import Check, Finding, NotLookedAtError, fault, ok, unknown, warning
from validator.health.doctor.site import LIMITS, Site
from validator.health.doctor.subnet import seen_subnet
from validator.health.preconditions import round_checks
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MIB
from validator.protocol.round import MetagraphSnapshot
from validator.rounds.prepare import schedule_of
from validator.rounds.readiness import spool_folder
from validator.scoring import VERSIONS

_WORKER: Final = 256 * MIB  # that judging one answer may take beyond its start, and so much again for that
_CGROUP: Final = Path("/sys/fs/cgroup/memory.max")
_MEMINFO: Final = Path("/proc/meminfo")
_LIBRARIES: Final = "bittensor", "SQLAlchemy", "aiohttp"


async def _look(site: Site) -> list[Finding]:
    found = [_versions(), *_memory()]
    try:
        snapshot = (await seen_subnet(site)).snapshot
        found += await asyncio.to_thread(lambda: list(_round(site, snapshot)))
    except NotLookedAtError as error:
        found += [unknown("file descriptors", error.detail), unknown("disk for a round", error.detail)]
    return found


def _versions() -> Finding:
    libraries = ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES)
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {_cores()} cores"
    return ok("versions", f"validator {__version__}, scoring {', '.join(VERSIONS)}, {libraries}, {system}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> Iterator[Finding]:
    """What all workers may need at once, against what the machine or the container has."""
    there, need = _memory_there(), (_cores() + 2) * _WORKER
    if there is None:
        return
    seen = f"{there // MIB} MiB, of which {need // MIB} MiB may be needed while all workers judge at once"
    if there < need:
        yield warning("memory", seen, "give the machine or the container more memory, or fewer cores")
    else:
        yield ok("memory", seen)


def _memory_there() -> int | None:
    found = []
    try:
        found.append(int(_MEMINFO.read_text(encoding="ascii").split()[1]) * 1024)
        found.append(int(_CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError, IndexError):
        pass
    return min(found, default=None)


def _round(site: Site, snapshot: MetagraphSnapshot) -> Iterator[Finding]:
    """What the daemon looks at before every round (SPEC 16, D-26); the clock is another check's."""
    try:
        clock, *others = round_checks(site.settings, schedule_of(site.settings), ClockWatch(site.clock))
    except ValidatorError:
        return
    del clock
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    shown = (f"{limit} in this shell; a service has a limit of its own", f"enough in {spool_folder()} and at the store")
    for about, check, fine in zip(("file descriptors", "disk for a round"), others, shown, strict=True):
        missing = check(snapshot)
        if missing is None:
            yield ok(about, fine)
        else:
            yield fault(about, missing.detail, CONDITIONS[missing.reason].advice)


CHECK: Final = Check(
    "machine",
    "Versions, memory for the workers, file descriptors and disk space for a round on this subnet.",
    "look at the machine's load and disks",
    LIMITS.whole,
    _look,
)
