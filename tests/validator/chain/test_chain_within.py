import asyncio

import pytest

from sssa.sources import VirtualClock
from validator.cancellation import within


async def answer(clock: VirtualClock, seconds: float) -> str:
    await clock.sleep(seconds)
    return "here"


async def asleep(clock: VirtualClock, count: int) -> None:
    """Return once so many tasks sleep on the clock."""
    while len(clock._sleepers) < count:  # noqa: ASYNC110 - a sleeper announces itself nowhere else
        await asyncio.sleep(0)


async def test_what_comes_in_time_is_returned() -> None:
    clock = VirtualClock()
    task = asyncio.create_task(within(clock, 5.0, answer(clock, 4.0)))
    await asleep(clock, 2)
    await clock.advance(4.0)
    assert await task == "here"


async def test_its_error_is_passed_on() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await within(VirtualClock(), 5.0, fail())


async def test_cancelling_it_cancels_the_call() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def stuck() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    task = asyncio.create_task(within(VirtualClock(), 5.0, stuck()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await cancelled.wait()


async def test_what_does_not_come_in_time_is_cancelled_and_has_ended_before_the_caller_goes_on() -> None:
    clock, left = VirtualClock(), asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            left.set()

    task = asyncio.create_task(within(clock, 5.0, slow()))
    await asleep(clock, 1)
    await clock.advance(5.0)
    with pytest.raises(TimeoutError, match="no answer within 5 s"):
        await task
    assert left.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}
