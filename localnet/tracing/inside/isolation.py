"""Limits and namespaces of a traced process. What the system refuses is left out, never an error."""

from __future__ import annotations

import ctypes
import os
import resource

MIB = 1024 * 1024
ADDRESS_SPACE = 768 * MIB
FILE_SIZE = 16 * MIB
OPEN_FILES = 128
PROCESSES = 64

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = 9
# Since this kernel the process limit counts per user namespace; before it, it would count all of the user's processes.
_COUNTS_PER_NAMESPACE = (5, 14)


def limit_resources(cpu_s: int) -> None:
    """Lower the process's own limits; they bind every process it starts."""
    for name, value in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _lower(name, value)


def limit_processes() -> None:
    """Cap the number of processes inside an own user namespace (does not bind root)."""
    if _kernel() >= _COUNTS_PER_NAMESPACE:
        _lower(resource.RLIMIT_NPROC, PROCESSES)


def enter_namespaces() -> bool:
    """Move to an own network and (for the next fork) process namespace; return whether the system allowed it."""
    libc = _libc()
    if libc is None:
        return False
    own = _CLONE_NEWNET | _CLONE_NEWPID
    return any(libc.unshare(flags) == 0 for flags in (own | _CLONE_NEWUSER, own))


def die_with_parent() -> None:
    """Be killed when the parent ends, and never gain privileges by running another program."""
    libc = _libc()
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _libc() -> ctypes.CDLL | None:
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "unshare") and hasattr(libc, "prctl") else None


def _lower(name: int, value: int) -> None:
    _, hard = resource.getrlimit(name)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(name, (bound, bound))
    except (OSError, ValueError):
        return


def _kernel() -> tuple[int, int]:
    parts = os.uname().release.split(".")
    return (int(parts[0]), int(parts[1])) if parts[0].isdigit() and parts[1].isdigit() else (0, 0)
