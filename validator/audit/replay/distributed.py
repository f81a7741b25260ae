"""Replay by worker processes of several machines: puts jobs into the queue in the store's Postgres, reads results."""

import asyncio
import multiprocessing
import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final

import msgspec

from validator.audit.replay.batches import batches_of, replay_batch
from validator.audit.replay.round_replay import RoundReplay
from validator.protocol import typed
from validator.waiting.job_queue import open_queue
from validator.waiting.life_cycle import QueueError

if TYPE_CHECKING:
    from validator.waiting.jobs import JobQueue

KIND: Final = "replay"
_LOOK_S: Final = 0.2
_STALLED_S: Final = 30.0
_LOOKS: Final = 10  # for lost workers, in the time after which one is lost
_MOST_TRIES: Final = 4


class NobodyReplaysError(QueueError):
    """No worker replays these rounds."""


@dataclass(slots=True)
class ReplayErrand:
    """A worker's part: a few rounds computed again, and their replays written down.

    So many `processes` at the same time end with this one. Threads would not do: msgspec prepares a type when it is
    first used, and two threads that do so at once crash.
    """

    url: str
    jobs: "JobQueue"
    processes: int
    name: str = KIND
    _pool: ProcessPoolExecutor | None = field(init=False, default=None)

    async def run(self, work_id: str, **arguments: Any) -> None:
        """Replay the rounds of a job."""
        ids = [int(round_id) for round_id in arguments["rounds"]]
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.processes, context, _end_with_parent)
        pool = self._pool
        try:
            replays = await asyncio.get_running_loop().run_in_executor(pool, replay_batch, self.url, ids)
        except BrokenProcessPool:
            if self._pool is pool:  # not the one that another errand has begun since
                self._pool = None
            raise
        await self.jobs.put_result(work_id, msgspec.json.encode(replays))

    def close(self) -> None:
        """End its processes as soon as what they do is done."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """Let this process end when the one that made it does, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def replay_elsewhere(url: str, ids: Sequence[int], *, stalled_s: float = _STALLED_S) -> Iterator[RoundReplay]:
    """Yield what `replay_rounds` yields, computed by the workers of the store's queue that do `replay`.

    What a lost worker had is given to another one: one that has not been heard of for `stalled_s`. Without any for so
    long this gives up.

    Raises:
        QueueError: there is no queue, or nobody who works on it; or some rounds end every worker that tries them.
    """
    with asyncio.Runner() as runner:
        found = _Asking(url, stalled_s).replays(ids)
        try:
            while (batch := runner.run(_next(found))) is not None:
                yield from batch
        finally:
            runner.run(found.aclose())


async def _next(found: AsyncGenerator[list[RoundReplay], None]) -> list[RoundReplay] | None:
    return await anext(found, None)


@dataclass(slots=True)
class _Asking:
    """Request for replays, repeated for those that a lost worker held."""

    url: str
    stalled_s: float
    _tries: Counter[str] = field(default_factory=Counter)
    _served: float = field(default_factory=time.monotonic)
    _healed: float = field(default_factory=time.monotonic)

    async def replays(self, ids: Sequence[int]) -> AsyncGenerator[list[RoundReplay], None]:
        """Yield the replays, a batch at a time, in the order of the rounds."""
        run = secrets.token_hex(8)
        batches = {f"{run}-{number}": list(batch) for number, batch in enumerate(batches_of(ids))}
        async with open_queue(self.url, make=False) as jobs:
            try:
                await _ask(jobs, batches)
                waiting, found = list(batches), dict[str, bytes]()
                while waiting:
                    found |= await jobs.results([name for name in waiting if name not in found])
                    while waiting and waiting[0] in found:
                        yield typed.decode(found.pop(waiting.pop(0)), list[RoundReplay])
                    missing = {name: batches[name] for name in waiting if name not in found}
                    if missing and time.monotonic() - self._healed >= self.stalled_s / _LOOKS:
                        await self._heal(jobs, missing)
                    await asyncio.sleep(_LOOK_S)
            finally:
                await jobs.withdraw(KIND, list(batches))

    async def _heal(self, jobs: "JobQueue", missing: Mapping[str, list[int]]) -> None:
        """Ask again for what no worker does any more."""
        self._healed = time.monotonic()
        await jobs.drop_lost(KIND, self.stalled_s)
        held = await jobs.held(KIND)
        taken = {name for name, _ in held.taken}
        found = await jobs.results(list(missing))  # after the jobs: a result is written before its job ends
        lost = {name: ids for name, ids in missing.items() if name not in held.waiting | taken | found.keys()}
        self._tries.update(lost.keys())
        for name, ids in lost.items():
            if self._tries[name] >= _MOST_TRIES:
                raise NobodyReplaysError(f"{_MOST_TRIES} workers ended over the rounds {ids[0]} to {ids[-1]}")
            await _ask(jobs, {name: ids}, self._tries[name] + 1)
        if any(KIND in one.queues for one in await jobs.live(self.stalled_s)):
            self._served = self._healed
        elif self._healed - self._served >= 2 * self.stalled_s:
            raise NobodyReplaysError("no live worker does it: start `validator worker --queue replay`")


async def _ask(jobs: "JobQueue", batches: Mapping[str, Sequence[int]], attempt: int = 1) -> None:
    """Put a job for each batch into the queue."""
    wanted = [(name, attempt, -rank, {"rounds": rounds}) for rank, (name, rounds) in enumerate(batches.items())]
    await jobs.put(KIND, wanted)
