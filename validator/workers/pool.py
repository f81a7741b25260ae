"""A pool of worker processes with budgets: one per core, fair between miners (SPEC 5, D-27)."""

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeVar

import structlog

from sssa.sources import SystemClock
from validator.workers.interface import (
    EXIT_NO_MEMORY,
    EXIT_OURS,
    MAX_REPLY,
    RAISED,
    READY,
    REPLY,
    REQUEST,
    SECOND_TRY,
    SWOLLEN,
    Budget,
    Hello,
    Reached,
    TooCostlyError,
    Whose,
    WorkerKilledError,
    WorkersError,
)


class Turns:
    """A semaphore of so many turns with a queue per key; the keys are served one after the other."""

    def __init__(self, many: int) -> None:
        self._free = many
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a turn of `key`, and hold it."""
        await self._acquire(key)
        try:
            yield
        finally:
            self._free += 1
            self._pass_on()

    async def _acquire(self, key: str) -> None:
        if self._free:
            self._free -= 1
            return
        called = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():  # called and cancelled at the same moment
                self._free += 1
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._free and self._waiting:
            key = next(iter(self._waiting))
            queue = self._waiting.pop(key)
            called = queue.popleft()
            if queue:
                self._waiting[key] = queue  # at the end: the other keys come first
            if not called.done():
                self._free -= 1
                called.set_result(None)


_ENDS: Final[dict[int | None, Reached]] = {
    -signal.SIGPROF: "cpu",
    -signal.SIGKILL: "killed",  # no budget ends a worker so: the machine does
    EXIT_NO_MEMORY: "memory",
    EXIT_OURS: "fault",
}
_START_S: Final = 60.0
_REAP_S: Final = 2.0
_LOOK_S: Final = 0.002
_NICE: Final = 5
# What is large is mapped on its own and given back when it is freed, so that one call leaves the next its memory.
_ALLOCATOR: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class WorkerEndedError(Exception):
    """The worker is dead.

    Attributes:
        reached: what it ran out of, `died` for a crash; `killed` (by the machine), `wall` (it stood still) and `fault`
            (it failed by itself) are ours.
        how: the signal or exit code, for people.
    """

    def __init__(self, reached: Reached, how: str) -> None:
        super().__init__(how)
        self.reached: Reached = reached
        self.how = how

    @property
    def ours(self) -> bool:
        """True if the input is not to blame."""
        return self.reached in {"killed", "wall", "fault"}


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply of a worker: a pickled result, or with `raised` a pickled error and the place that raised it."""

    raised: bool
    data: bytearray


class Worker:
    """A process and the socket to it. `spawn` makes one, which `ready` waits for; it must be ended."""

    def __init__(self, process: subprocess.Popen[bytes], link: socket.socket) -> None:
        self.process = process
        self._link = link
        self._talking = False
        self.usable = True

    @classmethod
    def spawn(cls) -> "Worker":
        """Start a process, in the event loop's thread: the kernel ends it with the thread that made it.

        Raises:
            OSError: no process can be had.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = _spawn(theirs)
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        return cls(process, ours)

    async def ready(self, preload: tuple[str, ...], nice: int = _NICE) -> None:
        """Wait until the process takes calls (WorkersError: it ended before)."""
        hello = pickle.dumps(Hello(tuple(sys.path), preload, nice))
        try:
            async with asyncio.timeout(_START_S), self._talk():
                await self._send(REPLY.pack(READY, len(hello)), hello)
                await self._receive(REPLY.size)
        except (OSError, EOFError, TimeoutError):
            code = await self._reaped() or await self.end()
            raise WorkersError(f"a worker ended before it was ready: {_how(code)}") from None

    async def ask(self, call: bytes, budget: Budget) -> Reply:
        """Have a pickled call made. After any error the process must be ended.

        Raises:
            WorkerEndedError: it died, or stood still for longer than the budget allows.
        """
        try:
            async with asyncio.timeout(budget.wall_s), self._talk():
                return await self._exchange(call, budget)
        except TimeoutError:
            raise WorkerEndedError("wall", f"no answer within {budget.wall_s:g} s") from None
        except (OSError, EOFError):
            raise await self._ended() from None

    async def _exchange(self, call: bytes, budget: Budget) -> Reply:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # reading tells more
            await self._send(REQUEST.pack(len(call), budget.cpu_s, budget.memory), call)
        status, size = REPLY.unpack(await self._receive(REPLY.size))
        if size > MAX_REPLY:
            raise WorkerEndedError("died", f"a reply of {size} bytes")
        data = await self._receive(size)
        if status >= SWOLLEN:
            status -= SWOLLEN
            self.usable = False
        return Reply(status == RAISED, data)

    async def _ended(self) -> WorkerEndedError:
        """Return why the process ended; one that only closed its socket is killed first."""
        code = await self._reaped()
        if code is None:
            await self.end()
            return WorkerEndedError("died", "it closed its socket")
        return WorkerEndedError(_ENDS.get(code, "died"), _how(code))

    def kill(self) -> None:
        """Kill the process without waiting; a caller that waits for an answer gets an error."""
        self.usable = False
        self.process.kill()
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    async def end(self) -> int | None:
        """End the process; return its exit code, None if the kernel holds on to it."""
        self.kill()
        return await self._reaped()

    @asynccontextmanager
    async def _talk(self) -> AsyncIterator[None]:
        """Keep the socket open meanwhile: the event loop never returns from a closed one."""
        self._talking = True
        try:
            yield
        finally:
            self._talking = False
            if not self.usable:
                self._link.close()

    async def _reaped(self) -> int | None:
        self.usable = False
        if not self._talking:
            self._link.close()
        until = asyncio.get_running_loop().time() + _REAP_S
        while (code := self.process.poll()) is None and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110 - nothing tells of it on every platform
            await asyncio.sleep(_LOOK_S)
        return code

    async def _send(self, *parts: bytes) -> None:
        for part in parts:
            await asyncio.get_running_loop().sock_sendall(self._link, part)

    async def _receive(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = await asyncio.get_running_loop().sock_recv_into(self._link, view)
            if not got:
                raise EOFError
            view = view[got:]
        return data


def _spawn(link: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process: nothing but the socket, an environment without secrets, its own process group."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    descriptor = link.fileno()
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", "validator.workers.child", str(descriptor), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # a dying library prints what it likes
        pass_fds=(descriptor,),
        env={**kept, **_ALLOCATOR, "PYTHONPATH": os.pathsep.join(sys.path)},
        process_group=0,
    )


def _how(code: int | None) -> str:
    if code is None:
        return "it does not end"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


T = TypeVar("T")
_INLINE: Final = 64 * 1024  # bytes; below this a thread costs more than it saves
_KILLED_PAUSES_S: Final = (1.0, 4.0)  # between tries: until the machine has memory again
_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0
_DESCRIPTIONS: Final[dict[Reached, str]] = {
    "cpu": "out of CPU time",
    "memory": "out of memory",
    "died": "a worker died of it",
}
_log = structlog.get_logger()


class WorkerPool:
    """Runs calls in processes that are started as they are needed.

    If a worker dies of a call or exceeds its budget, that is logged (`worker_ended`) and the call is made once more:
    alone, in a new worker, with four times the budget. Other calls continue meanwhile. If the machine kills a worker,
    the call waits and is made again with the same budget.

    Args:
        size: workers for calls that are not urgent; None for one per core. Urgent ones have their own.
        preload: modules that a worker imports before its address space is measured.
        budget: what one call may cost until something else is set.
        nice: how far behind this process the workers stand.
    """

    def __init__(
        self,
        size: int | None = None,
        *,
        preload: tuple[str, ...] = (),
        budget: Budget | None = None,
        nice: int = _NICE,
    ) -> None:
        self.budget: Budget | None = budget or Budget()
        self._hello = preload, nice
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
        """Longest time that a call waits for a worker, seconds; 0 if none waits."""
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
            raise TooCostlyError(f"{_DESCRIPTIONS[reply.reached]} ({reply.how})")
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
        """Make the call alone. If the machine kills it, a call that exceeded its budget before stays too costly."""
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
        """Make the call once; repeat it with the same budget if the fault is ours."""
        reached: Reached = "wall"
        for pause in (*_KILLED_PAUSES_S, 0.0):
            packed = await self._off_loop(lambda: pickle.dumps(make()))
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
            await worker.ready(*self._hello)
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


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
