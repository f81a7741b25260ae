"""Worker processes for tests, and the validator's part of the queue next to them."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sssa.sources import SystemClock
from validator.health.board import Board
from validator.store import Store
from validator.waiting.jobs import Sweep, open_jobs
from validator.waiting.life_cycle import CODE_KIND, EXECUTION_KIND

CHILD = Path(__file__).with_name("worker_child.py")


class WorkerProcess:
    """One worker process over a scripted sandbox, and what it wrote."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self.log = log

    def events(self) -> list[dict[str, Any]]:
        """Its log; of the last line, which a kill may have cut, nothing."""
        return [json.loads(line) for line in self.log.read_text().split("\n")[:-1]]


class WorkerProcesses:
    """Worker processes on one store; killed at the end.

    Args:
        url: of the store.
        folder: for their logs.
        seconds: that a run takes.
        kinds: of work.
    """

    def __init__(self, url: str, folder: Path, seconds: float, kinds: tuple[str, ...]) -> None:
        self._arguments = (url, "2", str(seconds), *kinds)
        self._folder = folder
        self.every: list[WorkerProcess] = []

    async def start(self) -> WorkerProcess:
        log = self._folder / f"worker{len(self.every)}.log"
        path = os.pathsep.join(sys.path)
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                CHILD,
                *self._arguments,
                stdout=file,
                stderr=file,
                env={**os.environ, "PYTHONPATH": path},
            )
        self.every.append(WorkerProcess(process, log))
        return self.every[-1]

    async def end(self) -> None:
        for one in self.every:
            if one.process.returncode is None:
                one.process.kill()
            await one.process.wait()


@asynccontextmanager
async def worker_processes(
    url: str, folder: Path, seconds: float = 0.05, kinds: tuple[str, ...] = ("executions",)
) -> AsyncIterator[WorkerProcesses]:
    workers = WorkerProcesses(url, folder, seconds, kinds)
    try:
        yield workers
    finally:
        await workers.end()


@asynccontextmanager
async def sweeping(store: Store, url: str, stalled_s: float = 4.0) -> AsyncIterator[Board]:
    """The validator's part, quick to take a worker for lost; yields its board."""
    clock = SystemClock()
    board = Board(clock)
    async with open_jobs(url, make=True) as jobs:
        sweep = Sweep(store, clock, jobs, (EXECUTION_KIND, CODE_KIND), board, stalled_s=stalled_s, every_s=0.2)
        task = asyncio.create_task(sweep.run())
        try:
            yield board
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def eventually(holds: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - what it looks at is in a database
            await asyncio.sleep(0.02)


async def counted(store: Store, holds: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Wait until it holds of how many executions there are in each state; return that."""
    found: dict[str, int] = {}

    async def look() -> bool:
        async with store.read() as tx:
            found.clear()
            found.update(await tx.executions.counts())
        return holds(found)

    await eventually(look)
    return found
