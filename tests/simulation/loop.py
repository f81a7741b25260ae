"""An event loop on virtual time: same seed, same steps. It has no selector, no threads and no sockets."""

import asyncio
import hashlib
import heapq
import itertools
from asyncio import events, futures
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
LAST_STEPS: Final = 50
_PROGRAM: Final = "/validator/"
_MOST_STEPS: Final = 5_000_000
_numbers = itertools.count()
Connect = Callable[["VirtualLoop", Callable[[], asyncio.Protocol], int], Coroutine[Any, Any, Any]]


class SimulationError(AssertionError):
    """Something happened in a simulation that must not."""


class Time:
    """Virtual seconds since the start. Every life of one history shares it.

    Attributes:
        now: seconds.
        off: seconds by which the validator's own wall clock is ahead of the chain's.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.off = 0.0


class LoopClock:
    """A `Clock` on virtual time.

    Args:
        time: seconds since the start.
        wrong: whether it shows the validator's own wall clock instead of the chain's.
    """

    def __init__(self, time: Time, *, wrong: bool = False) -> None:
        self._time = time
        self._wrong = wrong

    def now(self) -> datetime:
        """Return the current UTC time."""
        return START + timedelta(seconds=self._time.now + (self._time.off if self._wrong else 0.0))

    def monotonic(self) -> float:
        """Return seconds since the start."""
        return self._time.now

    async def sleep(self, seconds: float) -> None:
        """Sleep in virtual time."""
        await asyncio.sleep(max(0.0, seconds))


class _Task(asyncio.Task[Any]):
    """A task whose hash is its number: a set of tasks has the same order in every process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.number = next(_numbers)
        self.started: list[_Task] = []
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self.number


class _Future(asyncio.Future[Any]):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.number = next(_numbers)
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self.number


class Steps:
    """The log of a history's steps: a digest of all, and the text of the last ones."""

    def __init__(self) -> None:
        self.count = 0
        self.last: deque[str] = deque(maxlen=LAST_STEPS)
        self._digest = hashlib.sha256()

    def note(self, text: str) -> None:
        """Add one step."""
        self.count += 1
        self.last.append(text)
        self._digest.update(text.encode())
        if self.count > _MOST_STEPS:
            raise SimulationError(f"more than {_MOST_STEPS} steps: a loop without end")

    @property
    def digest(self) -> str:
        """Hex of sha256 over all steps."""
        return self._digest.hexdigest()


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs ready callbacks first in, first out, as asyncio does; time moves only when nothing is ready.

    Disorder comes from durations of statements and threads alone, which `random` draws.

    Args:
        time: shared by the lives of one history.
        random: draws durations.
        steps: the log.

    Attributes:
        killed: whether the process that the loop stands for was killed.
        connect: makes connections, from a protocol's factory and a port.
        errors: what asyncio reported: exceptions that nobody took.
    """

    def __init__(self, time: Time, random: Random, steps: Steps) -> None:
        super().__init__()
        self.virtual, self.random, self.steps = time, random, steps
        self.killed = False
        self.errors: list[str] = []
        self.kill_at: int | None = None
        self.life_steps = 0
        self.connect: Connect | None = None
        self.set_task_factory(self._make_task)
        self.set_exception_handler(self._report)

    def time(self) -> float:
        """Return virtual seconds."""
        return self.virtual.now

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return _Future(loop=self)

    def _make_task(self, _loop: Any, coro: Any, **options: Any) -> _Task:
        """Make a task; what the program starts has to end before the task that starts it."""
        task, starter = _Task(coro, loop=self, **options), asyncio.current_task(self)
        if isinstance(starter, _Task) and _PROGRAM in getattr(getattr(coro, "cr_code", None), "co_filename", ""):
            if not starter.started:
                starter.add_done_callback(self._require_ended)
            starter.started = [one for one in starter.started if not one.done()] + [task]
        return task

    def _require_ended(self, starter: Any) -> None:
        for task in starter.started:
            if not task.done() and not self.killed:
                self.errors.append(f"{_name_of(task)} outlives {_name_of(starter)}, which started it")

    def _run_once(self) -> None:
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]
            heapq.heappop(scheduled)._scheduled = False
        if not ready:
            if not scheduled:
                raise SimulationError("nothing is ready and no timer is set: a hang")
            self.virtual.now = max(self.virtual.now, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self.virtual.now:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            ready.append(timer)
        handle = ready.popleft()
        if handle._cancelled:
            return
        self.life_steps += 1
        self.steps.note(f"{self.virtual.now:.6f} {_name(handle)}")
        if self.life_steps == self.kill_at:
            self.kill()
            return
        handle._run()

    def kill(self) -> None:
        """Run nothing more: the process is gone. No `finally` of its tasks runs."""
        self.killed = True
        self.stop()

    async def die(self) -> None:
        """Kill the process at this point of the calling task."""
        self.kill()
        await self.create_future()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Call at once, and answer as late as a thread would."""
        answer = self.create_future()
        try:
            result, error = func(*args), None
        except Exception as raised:  # noqa: BLE001 - passed on, as from a thread
            result, error = None, raised
        self.call_later(self.duration(), _answer, answer, result, error)
        return answer

    def duration(self) -> float:
        """Draw how long a statement or a thread takes, seconds."""
        drawn = self.random.random()
        if drawn < 0.7:
            return 0.0
        return 0.002 * drawn if drawn < 0.97 else 0.3 * self.random.random()

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:  # type: ignore[override]
        """Connect to a miner of the history."""
        if self.connect is None:
            raise SimulationError(f"a connection to {host}:{port}")
        return await self.connect(self, factory, port)

    def overdue(self, what: str) -> None:
        """Fail the life that still runs."""
        self.errors.append(what)
        self.stop()

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call soon: there are no other threads."""
        return self.call_soon(callback, *args, context=context)

    def _write_to_self(self) -> None:
        """Nothing sleeps in a selector."""

    def live(self, main: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run until `main` has ended or the process is killed; return its task."""
        task = self.create_task(main)
        task.add_done_callback(lambda _: self.stop())
        events.set_event_loop(self)
        self.run_forever()
        return task

    def unended_tasks(self) -> list[str]:
        """Return the tasks that have not ended."""
        return sorted(f"{task.get_coro()!r}" for task in asyncio.all_tasks(self))

    def _report(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.killed:
            self.errors.append(f"nobody took {context.get('message')}: {context.get('exception')!r}")


def _answer(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


def _name_of(task: asyncio.Task[Any]) -> str:
    coro: Any = task.get_coro()
    return str(getattr(coro, "__qualname__", type(coro).__name__))


def _name(handle: asyncio.Handle) -> str:
    """Return what a handle runs, the same in every process: no addresses, no numbers of tasks."""
    callback: Any = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"{getattr(callback, '__name__', 'step')} {_name_of(owner)}"
    if isinstance(owner, futures.Future):
        return f"future {getattr(callback, '__name__', '')}"
    return str(getattr(callback, "__qualname__", type(callback).__name__))
