"""Tasks that are cancelled end, also where a cancellation is lost."""

import asyncio

import pytest

from validator.cancellation import complete, ended, run_whole, unless_set


async def test_a_task_that_loses_a_cancellation_is_cancelled_again() -> None:
    lost = 0

    async def losing() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if lost == 2:
                    raise
                lost += 1

    async def failing() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError("dropped")

    tasks = [asyncio.create_task(losing()), asyncio.create_task(failing())]
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await ended(tasks, again_s=0.01)
    assert lost == 2
    assert tasks[0].cancelled()
    assert isinstance(tasks[1].exception(), ValueError)
    await ended([])


@pytest.mark.parametrize("fails", [False, True])
def test_a_loop_ends_although_what_is_left_in_it_loses_a_cancellation(fails: bool) -> None:
    lost: list[int] = []

    async def losing() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append(1)

    async def work() -> int:
        left = asyncio.create_task(losing())
        await asyncio.sleep(0)
        if fails:
            raise ValueError(left.get_name())
        return 7

    if fails:
        with pytest.raises(ValueError, match="Task"):
            run_whole(work())
    else:
        assert run_whole(work()) == 7
    assert lost


@pytest.mark.parametrize("by", ["event", "caller"])
async def test_what_a_stop_ends_has_ended_when_it_returns(by: str) -> None:
    stop, begun, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)  # as a connection takes to close
            closed.set()

    waiting = asyncio.create_task(unless_set(stop, work))
    await begun.wait()
    if by == "event":
        stop.set()
        assert not await waiting
    else:
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert closed.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_who_ends_tasks_waits_for_them_although_it_is_cancelled_itself() -> None:
    closing = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            closing.set()
            await asyncio.sleep(0.01)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    ending = asyncio.create_task(ended([task], again_s=60))
    await closing.wait()
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert task.done()


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancellation_continues_although_the_last_write_fails(fails: bool) -> None:
    """Found by the simulation (seed 204): a stop was lost, and weights were sent for ever after it."""
    written: list[str] = []

    async def write() -> None:
        written.append("tried")
        if fails:
            raise ValueError("no room")

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await complete(write())

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert written == ["tried"]
    assert isinstance(caught.value.__cause__, ValueError) == fails
    if fails:
        with pytest.raises(ValueError, match="no room"):
            await complete(write())


async def test_what_fails_or_is_done_before_the_stop_is_told() -> None:
    async def failing() -> None:
        raise ValueError("ours")

    stop = asyncio.Event()
    assert await unless_set(stop, lambda: asyncio.sleep(0))
    with pytest.raises(ValueError, match="ours"):
        await unless_set(stop, failing)
    stop.set()
    assert not await unless_set(stop, failing)
