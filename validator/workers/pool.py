"""A pool of workers with budgets: one per core, fair between miners (SPEC 5, D-27)."""

import asyncio
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Final, TypeVar

import structlog

from validator.sources import SystemClock
from validator.workers.budget import SECOND_TRY, Budget
from validator.workers.interface import Reached, TooCostlyError, Whose, WorkerKilledError, WorkersError
from validator.workers.turns import Turns
from validator.workers.worker import Reply, Worker, WorkerEndedError

T = TypeVar("T")
_INLINE: Final = 64 * 1024  # bytes; below this a thread costs more than it saves
_KILLED_PAUSES_S: Final = (1.0, 4.0)  # between tries: until the machine has memory again
_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0
_WORDS: Final[dict[Reached, str]] = {
    "cpu": "out of CPU time",
    "memory": "out of memory",
    "died": "a worker died of it",
}
_log = structlog.get_logger()


class WorkerPool:
    """Runs calls in processes that are started as they are needed.

    What dies of a call or runs out of its budget is told (`worker_ended`), and the call is made once more: alone, in a
    new worker, with four times the budget. Other calls go on meanwhile. A worker that the machine kills is ours: the
    call waits and is made again with the same budget.

    Args:
        size: workers for calls that are not urgent; None for one per core. Urgent ones have one of their own.
        preload: modules that a worker imports before its address space is measured.
        budget: what one call may cost until something else is set.
    """

    def __init__(self, size: int | None = None, *, preload: tuple[str, ...] = (), budget: Budget | None = None) -> None:
        self.budget: Budget | None = budget or Budget()
        self._preload = preload
        many = size or _cores()
        self._turns = {False: Turns(many), True: Turns(1)}
        self._alone = Turns(1)
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._ending: set[asyncio.Future[int | None]] = set()
        self._threads = ThreadPoolExecutor(many + 2, thread_name_prefix="workers")
        self._closed = False
        self._waiting: dict[int, float] = {}
        self._clock = SystemClock()
        self._calls = count()

    @property
    def behind_s(self) -> float:
        """Seconds that the call has waited which waits for a worker for the longest time; 0 where none does."""
        now = self._clock.monotonic()
        return max((now - since for since in self._waiting.values()), default=0.0)

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:
        """Return what the made call returns; raise what it raises. See `Workers`.

        Raises:
            TooCostlyError: it went over its budget twice.
            WorkerKilledError: the machine killed every worker that tried.
            WorkersError: another fault of ours: workers that were stopped, or the pool is closed.
        """
        budget, call = self.budget or Budget(), next(self._calls)
        self._waiting[call] = self._clock.monotonic()
        try:
            async with self._turns[urgent].turn(whose.hotkey):
                reply = await self._tried(whose, make, budget, urgent=urgent, call=call)
        finally:
            self._waiting.pop(call, None)
        if isinstance(reply, WorkerEndedError):
            reply = await self._tried_again(whose, make, budget.times(SECOND_TRY), reply)
        if isinstance(reply, WorkerEndedError):
            raise TooCostlyError(f"{_WORDS[reply.reached]} ({reply.how})")
        result: T = await self._result(reply)
        return result

    async def close(self) -> None:
        """End every worker, whatever it is doing."""
        self._closed = True
        for worker in self._all:
            worker.kill()
        await asyncio.gather(*(worker.end() for worker in self._all))
        await asyncio.gather(*self._ending)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _tried_again(
        self, whose: Whose, make: Callable[[], Any], budget: Budget, first: WorkerEndedError
    ) -> Reply | WorkerEndedError:
        """Make the call alone; where the machine kills it, one that was over its own budget before stays too costly."""
        try:
            async with self._alone.turn(whose.hotkey):
                return await self._tried(whose, make, budget, again=True)
        except WorkerKilledError:
            if first.reached == "died":
                raise
            return first

    async def _tried(  # noqa: PLR0913 - a call, and how it is made
        self,
        whose: Whose,
        make: Callable[[], Any],
        budget: Budget,
        *,
        again: bool = False,
        urgent: bool = False,
        call: int = -1,
    ) -> Reply | WorkerEndedError:
        """Make the call once; where the fault is ours, it is made again with the same budget."""
        reached: Reached = "wall"
        for pause in (*_KILLED_PAUSES_S, 0.0):
            packed = await self._off_loop(_packed, make)
            worker = await self._worker(fresh=again)
            self._waiting.pop(call, None)
            try:
                reply = await worker.ask(packed, budget)
            except WorkerEndedError as error:
                self._refuse_closed()
                self._tell(whose, error, budget, again=again)
                if not error.ours:
                    return error
                reached = error.reached
            else:
                if worker.usable and not again:
                    self._idle.append(worker)
                return reply
            finally:
                if worker not in self._idle:
                    self._end(worker)
            if reached == "killed" and not urgent:
                await asyncio.sleep(pause)
        if reached == "killed":
            raise WorkerKilledError("the machine killed each worker (SIGKILL): look at its memory and its kernel's log")
        raise WorkersError("workers stand still or fail by themselves: look at the machine's load and memory")

    async def _worker(self, *, fresh: bool) -> Worker:
        """Return an idle worker or a new one; wait for as long as none can be started."""
        while self._idle and not fresh:
            worker = self._idle.pop()
            if worker.process.poll() is None:
                return worker
            self._end(worker)
        pause = 0.0
        while True:
            self._refuse_closed()
            try:
                return await self._started()
            except (OSError, WorkersError) as error:
                self._refuse_closed()
                if not pause:
                    _log.error("workers_unavailable", reason=str(error))
                pause = min(_LONGEST_PAUSE_S, 2 * pause or _PAUSE_S)
            await asyncio.sleep(pause)

    async def _started(self) -> Worker:
        worker = Worker.spawn()
        self._all.add(worker)
        try:
            await worker.ready(self._preload)
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _end(self, worker: Worker) -> None:
        """End a worker; it is waited for elsewhere."""
        worker.kill()
        ending = asyncio.ensure_future(worker.end())
        self._ending.add(ending)
        ending.add_done_callback(lambda _: self._all.discard(worker))
        ending.add_done_callback(self._ending.discard)

    async def _result(self, reply: Reply) -> Any:
        load = pickle.loads
        result = await self._off_loop(load, reply.data) if len(reply.data) > _INLINE else load(reply.data)
        if not reply.raised:
            return result
        error, where = result
        error.add_note(f"In a worker: {where}")
        raise error

    async def _off_loop(self, function: Callable[..., T], *args: Any) -> T:
        self._refuse_closed()
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise WorkersError("the pool is closed")

    def _tell(self, whose: Whose, error: WorkerEndedError, budget: Budget, *, again: bool) -> None:
        _log.error(
            "worker_ended",
            task_id=whose.task_id,
            hotkey=whose.hotkey,
            reached=error.reached,
            detail=error.how,
            again=again,
            cpu_s=round(budget.cpu_s, 3),
            memory=budget.memory,
        )


def _packed(make: Callable[[], Any]) -> bytes:
    return pickle.dumps(make())


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
