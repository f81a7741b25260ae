"""Limits that a traced process sets for itself. What the system refuses is left out, never an error."""

from __future__ import annotations

import ctypes
import os
import resource

MIB = 1024 * 1024
ADDRESS_SPACE = 768 * MIB
FILE_SIZE = 16 * MIB
OPEN_FILES = 128
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_SIGKILL = 9


def limit_resources(cpu_s: int, *, address_space: bool) -> None:
    """Lower the process's own limits and give it one processor; that binds every process it starts."""
    for name, value in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        *(((resource.RLIMIT_AS, ADDRESS_SPACE),) if address_space else ()),
    ):
        _lower(name, value)
    try:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123 - as everywhere here
            file.write("1000")
    except OSError:
        return


def end_with_parent() -> None:
    """Be killed when the parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def keep_others_out() -> None:
    """Keep other processes of the user from this one's memory and descriptors."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def make_readable() -> None:
    """Undo `keep_others_out` in a child, which its watcher must be able to read."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def _lower(name: int, value: int) -> None:
    _, hard = resource.getrlimit(name)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(name, (bound, bound))
    except (OSError, ValueError):
        return
