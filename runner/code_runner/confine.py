"""What keeps the processes of one user apart, and what they may take."""

import contextlib
import ctypes
import os
import resource
import signal
from pathlib import Path
from typing import Final

_SET_PDEATHSIG: Final = 1
_GET_DUMPABLE: Final = 3
_SET_DUMPABLE: Final = 4
_libc: Final = ctypes.CDLL(None, use_errno=True)


class OpenToOthersError(Exception):
    """The kernel does not keep other processes of the user out of this one."""


def keep_others_out() -> None:
    """Keep other processes of the user from this one's memory, descriptors and environment.

    Raises:
        OpenToOthersError: the kernel cannot.
    """
    _libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if _libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OpenToOthersError


def end_with_parent() -> None:
    """Be killed when the process that started this one ends."""
    _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def take_little(memory: int) -> None:
    """Take at most so many bytes of address space, give way to the keeper, and be the first that the kernel kills."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(19)
    with contextlib.suppress(OSError):  # where the kernel has no such file, nothing is lost but the order
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def kill_all_others() -> None:
    """Kill every other process of the container, and wait until they are gone; outside of one, the children alone."""
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    else:
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _children() -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(folder.name))
    return found
