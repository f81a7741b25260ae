"""Looking at a running daemon from outside: memory of its whole tree, lag of its event loop."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

_EVERY_S = 0.1


def family(pid: int) -> list[int]:
    """The process and all that descend from it."""
    found = [pid]
    for parent in found:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue  # it ended while it was looked at
    return found


def proportional_kb(pid: int) -> int:
    """Memory of one process; what is shared with others counts by its share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


@dataclass
class Memory:
    """Memory of the daemon and all its processes, MiB.

    Attributes:
        peak: the largest sum seen at one moment.
        daemon: the largest part of the daemon itself.
        processes: the most processes there were.
    """

    peak: float = 0.0
    daemon: float = 0.0
    processes: int = 0
    looks: int = field(default=0, repr=False)

    def look(self, pid: int) -> None:
        pids = family(pid)
        parts = [proportional_kb(one) / 1024 for one in pids]
        self.looks += 1
        self.peak = max(self.peak, sum(parts))
        self.daemon = max(self.daemon, parts[0])
        self.processes = max(self.processes, len(pids))


@asynccontextmanager
async def memory_watched(pid: int) -> AsyncIterator[Memory]:
    """Look ten times a second until the block ends."""
    memory = Memory()

    async def look() -> None:
        while True:
            await asyncio.to_thread(memory.look, pid)
            await asyncio.sleep(_EVERY_S)

    looking = asyncio.create_task(look())
    try:
        yield memory
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


@dataclass(frozen=True)
class MemoryGroup:
    """A control group that limits the memory of its processes, as a container's does."""

    folder: Path
    old: bool  # of the first version

    def add(self, pid: int) -> None:
        """Put a process into it; what the process starts from now on is in it as well."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    @property
    def peak(self) -> float:
        """The most that was charged to it, MiB; cached pages of files are among it until the room is needed."""
        return int((self.folder / ("memory.max_usage_in_bytes" if self.old else "memory.peak")).read_text()) / 2**20

    @property
    def killed(self) -> int:
        """The number of processes that the kernel killed for room."""
        events = (self.folder / ("memory.oom_control" if self.old else "memory.events")).read_text()
        return next(int(line.split()[1]) for line in events.splitlines() if line.startswith("oom_kill "))


@contextmanager
def memory_group(limit_mib: int) -> Iterator[MemoryGroup | None]:
    """A new group with this limit; None where this user may not make one. Its processes end within the block."""
    root = Path("/sys/fs/cgroup")
    old = (root / "memory").is_dir()
    group = MemoryGroup((root / "memory" if old else root) / f"sssa-{os.getpid()}", old)
    try:
        group.folder.mkdir()
    except OSError:
        yield None
        return
    try:
        limit = group.folder / ("memory.limit_in_bytes" if old else "memory.max")
        limited = limit.exists()
        if limited:
            limit.write_text(str(limit_mib * 2**20))
        yield group if limited else None
    finally:
        with suppress(OSError):  # a part of a daemon that was killed is about to end
            group.folder.rmdir()


@dataclass(frozen=True)
class Lag:
    """Number of timers of the daemon's event loop, and how many were within each bound (seconds)."""

    timers: int
    within: dict[float, int]

    def share_within(self, bound: float) -> float:
        return self.within[bound] / self.timers

    def bound_of(self, share: float) -> float:
        """The smallest measured bound that holds for this share of the timers."""
        return min(bound for bound, count in self.within.items() if count >= share * self.timers)


def lag_of(metrics: str) -> Lag:
    counts = {
        float(line.split('le="')[1].split('"')[0]): int(float(line.split()[-1]))
        for line in metrics.splitlines()
        if line.startswith("validator_loop_lag_seconds_bucket")
    }
    return Lag(counts[float("inf")], counts)


async def metrics_of(port: int) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as response:
        return await response.text()


def of_session(session: int) -> list[int]:
    """The processes of a session that still live: a daemon that leads it, and whatever it left behind."""
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal() and _in(folder, session)]


def _in(folder: Path, session: int) -> bool:
    try:
        state, _, _, own, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return own == str(session) and state not in "ZX"


async def gone(session: int, seconds: float = 10.0) -> float:
    """Wait until no process of the session lives; return how long it took.

    Raises:
        TimeoutError: some still do.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(seconds):
        while await asyncio.to_thread(of_session, session):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.02)
    return loop.time() - began
