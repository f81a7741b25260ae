"""Calls on the event loop's thread of one process: how long each takes, and what it opens there."""

import asyncio
import atexit
import json
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

# Audit events of calls that can wait for a disk, a name server or another process.
BLOCKING: Final = frozenset(
    {"open", "os.listdir", "os.scandir", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "os.system"}
)
_OURS: Final = tuple(str(Path(__file__).parents[2] / house) for house in ("validator", "sssa"))


def watch(file: str) -> None:
    """Measure from now on; at the end write the slowest calls, and what may block by its place, to a file."""
    slowest: dict[str, float] = {}
    opened: dict[str, int] = {}
    main, run = threading.main_thread().ident, asyncio.Handle._run
    inside = False

    def timed(handle: asyncio.Handle) -> None:
        nonlocal inside
        waited, began, inside = _waited(), time.perf_counter(), True
        try:
            run(handle)
        finally:
            inside = False
            took = time.perf_counter() - began
            if took > 0.05:
                took -= _waited() - waited  # for a processor: other programs of the machine had it
                name = repr(handle)[:300]
                slowest[name] = max(slowest.get(name, 0.0), took)

    def heard(name: str, arguments: tuple[Any, ...]) -> None:
        if inside and name in BLOCKING and threading.get_ident() == main:
            place = _place(sys._getframe(1))
            opened[f"{name} {place}"] = opened.get(f"{name} {place}", 0) + 1

    def written() -> None:
        Path(file).write_text(json.dumps({"slowest": slowest, "opened": opened}), encoding="utf-8")

    asyncio.Handle._run = timed  # type: ignore[assignment, method-assign]
    sys.addaudithook(heard)
    atexit.register(written)


def _waited() -> float:
    """Return for how many seconds this thread has waited for a processor."""
    return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / 1e9


def _place(frame: FrameType | None) -> str:
    while frame is not None and not frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return (
        ""
        if frame is None
        else f"{Path(frame.f_code.co_filename).relative_to(Path(_OURS[0]).parent)}:{frame.f_code.co_qualname}"
    )
