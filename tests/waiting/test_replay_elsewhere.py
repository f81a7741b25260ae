"""`validator replay --distributed`: what it says is what a replay here says, whatever becomes of its workers."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from databases import Like
from execution_world import plain_world
from fork_start import ran
from queue_kit import eventually, worker_processes
from recorded import headed
from world import one_round

from validator.audit.replay import distributed
from validator.audit.replay.batches import replay_rounds
from validator.audit.replay.distributed import KIND, NobodyReplaysError, ReplayErrand, replay_elsewhere
from validator.audit.replay.round_replay import RoundReplay
from validator.daemon.exits import Exit
from validator.sources import SystemClock
from validator.store import open_store
from validator.waiting.jobs import JobQueue, open_jobs
from validator.waiting.worker import QueueWorker

ROUNDS = 20
PROGRAM = (sys.executable, "-c", "from validator.cli import main; main()")


@pytest.fixture(scope="module")
def with_rounds(like: Like) -> Iterator[str]:
    with like() as url:
        asyncio.run(_rounds(url))
        yield url


@pytest.fixture
def url(with_rounds: str, like: Like) -> Iterator[str]:
    with like(with_rounds) as url:
        yield url


async def _rounds(url: str) -> None:
    async with open_store(url) as store, open_jobs(url, make=True):
        world = plain_world(store)
        for _ in range(ROUNDS):
            await one_round(world)


class Serving:
    """A worker for replays in its own thread, so that who asks may block."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.stop = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        stop = asyncio.Event()
        async with open_jobs(self.url, make=False, connections=2) as jobs, open_store(self.url, connections=2) as store:
            errand = ReplayErrand(self.url, jobs, 2)
            worker = QueueWorker(store, SystemClock(), jobs, "a", 2, errands=[errand], heartbeat_s=0.2)
            task = asyncio.create_task(worker.run(stop))
            await asyncio.to_thread(self.stop.wait)
            stop.set()
            await task
            errand.close()


@pytest.fixture
def serving(url: str) -> Iterator[Serving]:
    found = Serving(url)
    found.thread.start()
    yield found
    found.stop.set()
    found.thread.join()


def commanded(url: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    config = folder / "validator.toml"
    config.write_text(f'[validator]\nnetuid = 1\n[store]\nurl = "{url}"\n')
    return ran("replay", "--all", *arguments, "--config", str(config), timeout=120)


def test_it_says_what_a_replay_here_says(serving: Serving, tmp_path: Path) -> None:
    asyncio.run(_altered(serving.url))
    here = commanded(serving.url, tmp_path, "--json")
    elsewhere = commanded(serving.url, tmp_path, "--json", "--distributed")
    assert (elsewhere.returncode, elsewhere.stdout) == (here.returncode, here.stdout)
    assert here.returncode == Exit.NO
    verdicts = [json.loads(line)["verdict"] for line in here.stdout.splitlines()]
    assert verdicts == ["equal"] * 7 + ["different"] + ["equal"] * (ROUNDS - 8)


async def _altered(url: str) -> None:
    async with open_store(url) as store, store.begin() as tx:
        await headed(7, outcome=b"{}")(tx)


def test_nothing_of_it_stays(serving: Serving) -> None:
    assert [one.round_id for one in replay_elsewhere(serving.url, range(5, 9))] == [5, 6, 7, 8]
    found = replay_elsewhere(serving.url, range(ROUNDS))
    assert next(found).round_id == 0
    found.close()  # type: ignore[attr-defined]
    assert asyncio.run(_waiting(serving.url)) == 0


async def _waiting(url: str) -> int:
    async with open_jobs(url, make=False) as jobs:
        return len((await jobs.held(KIND)).waiting)


def test_without_a_worker_it_says_so(url: str) -> None:
    with pytest.raises(NobodyReplaysError, match="no live worker"):
        list(replay_elsewhere(url, range(ROUNDS), stalled_s=0.5))
    assert asyncio.run(_waiting(url)) == 0


def test_without_a_queue_it_says_so(postgres_url: str, tmp_path: Path) -> None:
    ran = commanded(postgres_url, tmp_path, "--distributed")
    assert (ran.returncode, "start the validator with" in ran.stderr) == (Exit.NOT_READY, True)


@pytest.mark.attack
async def test_a_killed_worker_loses_nothing(postgres_url: str, tmp_path: Path) -> None:
    await _rounds(postgres_url)
    async with (
        worker_processes(postgres_url, tmp_path, kinds=("replay",)) as workers,
        open_jobs(postgres_url, make=False) as jobs,
    ):
        first = await workers.start()
        asking = asyncio.create_task(asyncio.to_thread(_replayed, postgres_url))

        async def taken() -> bool:
            return bool((await jobs.held(KIND)).taken)

        await eventually(taken)
        first.process.kill()
        await workers.start()
        assert await asking == await asyncio.to_thread(lambda: list(replay_rounds(postgres_url, range(ROUNDS))))


def _replayed(url: str) -> list[RoundReplay]:
    return list(replay_elsewhere(url, range(ROUNDS), stalled_s=10.0))


class Pools(ThreadPoolExecutor):
    """Process pools of which the first is broken, and which of them were shut down."""

    made: ClassVar[list["Pools"]]

    def __init__(self, *_: object) -> None:
        super().__init__(1)
        self.broken, self.closed = not self.made, False
        self.made.append(self)

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        done: Future[Any] = Future()
        if self.broken:
            done.set_exception(BrokenProcessPool("a process died"))
        else:
            done.set_result([])
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.closed = True
        super().shutdown(wait, cancel_futures=cancel_futures)


async def test_errands_that_lose_their_processes_at_once_begin_one_new_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    Pools.made = []
    monkeypatch.setattr(distributed, "ProcessPoolExecutor", Pools)
    written: list[str] = []

    class Kept:
        async def put_result(self, name: str, _result: bytes) -> None:
            written.append(name)

    errand = ReplayErrand("", cast(JobQueue, Kept()), 1)

    async def twice() -> None:
        with pytest.raises(BrokenProcessPool):
            await errand.run("a", rounds=[0])
        await errand.run("a", rounds=[0])

    async def once() -> None:
        with pytest.raises(BrokenProcessPool):
            await errand.run("b", rounds=[1])

    await asyncio.gather(twice(), once())
    await errand.run("b", rounds=[1])
    errand.close()
    assert (written, [pool.closed for pool in Pools.made]) == (["a", "b"], [False, True])
