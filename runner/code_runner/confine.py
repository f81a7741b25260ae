"""Isolation and limits of the image's processes before a stranger's code runs, cleanup after it; also for `tracer`."""

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


def _addresses() -> list[int]:
    listed = ctypes.POINTER(ctypes.c_void_p).in_dll(_libc, "environ")
    collected: list[int] = []
    while address := listed[len(collected)]:
        collected.append(address)
    return collected


_listed: Final = _addresses()


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


def take_variable(name: str) -> str:
    """Return a variable, and wipe it out where /proc shows it: not every kernel keeps others from there."""
    value = os.environ.pop(name)  # libc then no longer lists it, but it is still where it was
    start = f"{name}={value}".encode()
    for address in _listed:
        if ctypes.string_at(address) == start:
            ctypes.memset(address, 0, len(start))
    return value


def end_with_parent() -> None:
    """Be killed when the process that started this one ends."""
    _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def take_little(memory: int) -> None:
    """Limit the address space, lower the priority, and be the kernel's first victim when memory runs out."""
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


def clear(folder: Path) -> None:
    """Remove everything in the folder, whatever its mode."""
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o700)
            clear(one)
            one.rmdir()
        else:
            one.unlink()


def _children() -> list[int]:
    collected = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                collected.append(int(folder.name))
    return collected
