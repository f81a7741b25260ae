"""Tasks that are cancelled end, also where a cancellation is lost."""

import asyncio

from validator.unless import ended


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
