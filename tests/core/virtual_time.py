"""Virtual time that stops while somebody works: what a slow machine takes for it is none."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from sqlalchemy.pool import QueuePool

from sssa.sources import VirtualClock
from validator.store import Store

T = TypeVar("T")
_TURNS: Final = 1_000  # of the event loop, at most: some wait in turns of their own, without end
_AGAIN_S: Final = 0.001
_in_threads: WeakKeyDictionary[asyncio.AbstractEventLoop, set[asyncio.Future[Any]]] = WeakKeyDictionary()


async def all_wait() -> None:
    """Return once every task of this loop waits for something."""
    ready: Any = cast("Any", asyncio.get_running_loop())._ready
    for _ in range(_TURNS):
        await asyncio.sleep(0)
        if not ready:
            return


async def all_wait_for_time(busy: Callable[[], object]) -> None:
    """Return once every task of this loop waits, and nothing that it waits for is `busy` in real time."""
    await all_wait()
    while busy():
        await asyncio.sleep(_AGAIN_S)
        await all_wait()


def in_threads() -> set[asyncio.Future[Any]]:
    """The calls of this loop that threads have not answered, of all that begin from now on."""
    loop = asyncio.get_running_loop()
    if loop not in _in_threads:
        calls, run = _in_threads.setdefault(loop, set()), loop.run_in_executor

        def counted(*call: Any) -> asyncio.Future[Any]:
            answer = run(*call)
            calls.add(answer)
            answer.add_done_callback(calls.discard)
            return answer

        setattr(loop, "run_in_executor", counted)  # noqa: B010 - mypy lets no method be assigned
    return _in_threads[loop]


def in_the_store(store: Store) -> int:
    """Return the number of the store's open transactions."""
    return cast("QueuePool", store._engine.pool).checkedout()


async def passed(clock: VirtualClock, store: Store, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; whenever everybody waits for time, it is the moment of who waits shortest."""
    threads = in_threads()
    running = asyncio.ensure_future(work)
    while True:
        await all_wait_for_time(lambda: not running.done() and (threads or in_the_store(store)))
        if running.done():
            return running.result()
        moment = min((until for until, _, wake in clock._sleepers if not wake.done()), default=None)
        if moment is None:  # something real is under way that is not counted: a process, a connection
            await asyncio.wait([running], timeout=_AGAIN_S)
        else:
            await clock.advance(moment - clock.monotonic())
