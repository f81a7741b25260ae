"""A worker process: makes calls one after the other, within limits that the kernel enforces even in C code.

Started as `python -m validator.workers.child DESCRIPTOR PARENT`. It imports little: every worker pays for it.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import pickle
import resource
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Final

from sssa.protocol.limits import MIB
from validator.workers.interface import (
    EXIT_NO_MEMORY,
    EXIT_OURS,
    MAX_REPLY,
    RAISED,
    READY,
    REPLY,
    REQUEST,
    RETURNED,
    SWOLLEN,
    Hello,
)

_PR_SET_PDEATHSIG: Final = 1
_SWOLLEN: Final = 64 * MIB  # beyond its start: what the next call would lack
_FILES: Final = 64
_MAX_TRACEBACK: Final = 4_000  # characters of a traceback
_SACRIFICE: Final = "500"  # of 1000: when memory runs out, the kernel takes a worker before the daemon


def main(descriptor: int, parent: int) -> None:
    """Serve calls until the other end is closed; never return."""
    _die_with(parent)
    try:
        _live(descriptor)
    except MemoryError:
        os._exit(EXIT_NO_MEMORY)
    except BaseException:  # noqa: BLE001 - a miner must not pay for it
        os._exit(EXIT_OURS)


def _live(descriptor: int) -> None:
    _give_way()
    link = socket.socket(fileno=descriptor)
    hello: Hello = pickle.loads(_receive(link, _size(link)))  # noqa: S301 - from the pool
    sys.path[:] = hello.path
    for name in hello.preload:
        importlib.import_module(name)
    with contextlib.suppress(OSError):
        os.nice(hello.nice)
    gc.collect()
    gc.freeze()
    mapped = _mapped()
    link.sendall(REPLY.pack(READY, 0))
    while True:
        _serve(link, mapped)


def _serve(link: socket.socket, start: int | None) -> None:
    size, cpu_s, memory = REQUEST.unpack(_receive(link, REQUEST.size))
    if start is not None:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (start + memory, most))
    status, reply = _answer(_receive(link, size), cpu_s)
    if start is not None and (_mapped() or 0) > start + _SWOLLEN + len(reply):
        status += SWOLLEN
    link.sendall(REPLY.pack(status, len(reply)))
    link.sendall(reply)


def _answer(data: bytearray, cpu_s: float) -> tuple[int, bytes]:
    """Make the call; the kernel ends this process after `cpu_s` of CPU time in any code."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        call = pickle.loads(data)  # noqa: S301 - from the pool
        data.clear()
        reply = pickle.dumps(call())
        if len(reply) > MAX_REPLY:
            raise OverflowError(f"a result of {len(reply)} bytes, at most {MAX_REPLY}")
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - it is raised again where the call was made
        return RAISED, _raised(error)
    else:
        return RETURNED, reply
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _raised(error: Exception) -> bytes:
    """Return the error and where it was raised; an error that cannot be pickled is sent as text."""
    where = "".join(traceback.format_exception(error))[-_MAX_TRACEBACK:]
    try:
        data = pickle.dumps((error, where))
        pickle.loads(data)  # noqa: S301 - made one line above
    except Exception:  # noqa: BLE001 - an error's constructor may be anything
        data = pickle.dumps((RuntimeError(type(error).__name__), where))
    return data


def _receive(link: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = link.recv_into(view)
        if not got:
            os._exit(0)  # the pool is gone
        view = view[got:]
    return data


def _size(link: socket.socket) -> int:
    size: int = REPLY.unpack(_receive(link, REPLY.size))[1]
    return size


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when the parent ends, even by SIGKILL; elsewhere the budget bounds its life."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _give_way() -> None:
    """Leave the parent's signals to the parent, leave no core file, and be the first that the kernel ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, most))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_SACRIFICE, encoding="ascii")


def _mapped() -> int | None:
    """Return the bytes of this process's address space, None if the kernel neither reports nor bounds them."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
