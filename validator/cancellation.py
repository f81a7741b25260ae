"""Cancellation of asyncio work: by a request to stop, by the failure of other work, or only after the last write.

Touches tasks of the event loop alone. Rooms call it that wait, or write once more before they end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from sssa.sources import Clock

T = TypeVar("T")


async def unless_set(event: asyncio.Event, work: Callable[[], Awaitable[None]]) -> bool:
    """Do `work`, but not once `event` is set, nor longer than until it is; return whether it was done.

    It has ended when this returns or raises, also where the caller is cancelled.

    Raises:
        Exception: whatever `work` raises before the event is set.
    """
    if event.is_set():
        return False
    working, stopping = asyncio.ensure_future(work()), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done = working.done()
        await ended((working, stopping))
    if done:
        await working
    return done


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the result of each, in order; where one fails the others have ended, too, before the error is raised.

    Raises:
        Exception: the first one's error.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


async def ended(tasks: Iterable[asyncio.Task[Any]], again_s: float = 1.0) -> None:
    """Cancel tasks in their order, and again every `again_s` seconds, until they are done; what they raise is dropped.

    One cancellation can be lost: where it meets a connection that a pool hands out at that moment, the pool keeps it.

    Raises:
        CancelledError: the caller was cancelled meanwhile; the tasks have ended all the same.
    """
    cancelled: asyncio.CancelledError | None = None
    pending = everyone = list(tasks)
    while pending:
        for task in pending:
            task.cancel()
        try:
            await asyncio.wait(pending, timeout=again_s)
        except asyncio.CancelledError as error:
            cancelled = error
        pending = [task for task in pending if not task.done()]
    await asyncio.gather(*everyone, return_exceptions=True)
    if cancelled is not None:
        raise cancelled


def run_whole(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in its own loop, and end what it leaves running there; return what it returns.

    `asyncio.run` cancels that once. The SDK dials a chain that is away for ever, and its task can lose a cancellation:
    then a process that has done its work would not end.
    """

    async def end_rest() -> None:
        await ended(asyncio.all_tasks() - {asyncio.current_task()})

    with asyncio.Runner() as runner:
        try:
            return runner.run(work)
        finally:
            runner.run(end_rest())


async def complete(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns. A cancellation meanwhile, however often, waits for its end and then continues.

    An error of `work` does not take the place of a cancellation: a service would handle it and run on for ever.

    Raises:
        CancelledError: the caller was cancelled meanwhile, or before, and `work` failed; its `__cause__` is what
            `work` raised, None if it was done in full.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    failure = None if task.cancelled() else task.exception()
    caller = asyncio.current_task()
    if cancelled is None and failure is not None and caller is not None and caller.cancelling():
        cancelled = asyncio.CancelledError()
    if cancelled is not None:
        raise cancelled from failure
    return task.result()


async def within(
    clock: Clock, seconds: float, call: Coroutine[Any, Any, T], *, before_cut: Callable[[], None] = lambda: None
) -> T:
    """Return what `call` returns, if it does so in time. It has ended when this returns or raises.

    `before_cut` is called before a call is cut off, which may continue for some steps before it ends.

    Raises:
        TimeoutError: it did not and was cancelled; what it has done until then is not known.
    """
    work = asyncio.create_task(call)
    timer = asyncio.create_task(clock.sleep(seconds))
    try:
        await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        raise TimeoutError(f"no answer within {seconds:g} s")
    finally:
        if not work.done():
            before_cut()
        await ended((work, timer))
