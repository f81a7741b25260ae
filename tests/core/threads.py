"""How many calls are in threads just now: virtual time must not run on while they are."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class CountingExecutor(ThreadPoolExecutor):
    """A thread pool that knows how many calls it has not ended."""

    def __init__(self) -> None:
        super().__init__()
        self._unended: set[Future[Any]] = set()

    @property
    def busy(self) -> bool:
        return any(not call.done() for call in self._unended)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        self._unended = {call for call in self._unended if not call.done()}
        call = super().submit(fn, *args, **kwargs)
        self._unended.add(call)
        return call


def counted_threads() -> CountingExecutor:
    """Let `asyncio.to_thread` and its like use a pool that counts, in this loop."""
    executor = CountingExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    return executor
