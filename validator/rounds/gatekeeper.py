"""Judging off the event loop: in a process of its own, as hostile answers may cost a second of pure computation."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor

import structlog

from validator.rounds.gates import Expected
from validator.rounds.judge import Judged, judge

_log = structlog.get_logger()


def gate_process() -> Executor:
    """Return one worker process: one answer at a time bounds the memory that hostile ones can take."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_live_with_the_parent)


def _live_with_the_parent() -> None:
    """Leave signals to the parent, and do not outlive it when it is killed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_die_with_the_parent, daemon=True).start()


def _die_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


class Gatekeeper:
    """Sends answers through gates 1 to 6, one after the other.

    Args:
        start: makes the executor; called again when its process was killed.
    """

    def __init__(self, start: Callable[[], Executor] = gate_process) -> None:
        self._start = start
        self._executor = start()

    async def judge(self, expected: Expected, body: bytes, seconds: float) -> Judged:
        """Return what the gates say of one answer.

        Raises:
            BrokenExecutor: the process was killed twice over the same answer.
        """
        executor = self._executor
        try:
            return await self._run(executor, expected, body, seconds)
        except BrokenExecutor:
            if self._executor is executor:
                _log.warning("gates_restarted", task_id=expected.task.task_id, hotkey=expected.hotkey)
                self._executor = self._start()
            return await self._run(self._executor, expected, body, seconds)

    async def _run(self, executor: Executor, expected: Expected, body: bytes, seconds: float) -> Judged:
        return await asyncio.get_running_loop().run_in_executor(executor, judge, expected, body, seconds)

    async def close(self) -> None:
        """End the process."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)
