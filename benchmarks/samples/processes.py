"""CPU of a process and of everything below it, also of what a fork server started and has buried."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_s() -> float:
    """Return the seconds of CPU, user and system, that this process, its children and theirs have had."""
    lines = [_fields(path) for path in Path("/proc").glob("[0-9]*/stat")]
    children: dict[int, list[int]] = {}
    for pid, parent, _ in lines:
        children.setdefault(parent, []).append(pid)
    ticks = {pid: used for pid, _, used in lines}
    seconds, waiting = 0.0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        seconds += ticks[pid] / _TICKS
        waiting += children.get(pid, [])
    return seconds


def _fields(path: Path) -> tuple[int, int, int]:
    """Return a process's id, its parent's, and its ticks with those of its children that have ended."""
    try:
        after_name = path.read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return (0, 0, 0)
    return int(path.parent.name), int(after_name[1]), sum(map(int, after_name[11:15]))
