"""Last writes: what is on its way to the store when its task is cancelled arrives first."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns. A cancellation meanwhile, however often, waits for its end and then goes on.

    Raises:
        CancelledError: the caller was cancelled; its `__cause__` is what `work` raised, None if it was done in full.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    return task.result()
