"""Judging off the event loop: in a process of its own, as hostile answers may cost a second of pure computation."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import structlog

from validator.rounds.gates import Expected
from validator.rounds.judge import Judged, judge
from validator.rounds.plans import AcceptedPlan, judge_plan

P = ParamSpec("P")
T = TypeVar("T")
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
        """Return what the gates say of one answer to an assessment.

        Raises:
            BrokenExecutor: the process was killed twice over the same answer.
        """
        return await self.apart(expected, judge, expected, body, seconds)

    async def judge_plan(self, expected: Expected, body: bytes, seconds: float) -> AcceptedPlan | Judged:
        """Return what the gates say of one answer to a workflow task: a plan to run, or a rejection.

        Raises:
            BrokenExecutor: the process was killed twice over the same answer.
        """
        return await self.apart(expected, judge_plan, expected, body, seconds)

    async def apart(self, expected: Expected, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `function` returns when it is called in the process; `expected` is whose answer it is about.

        Raises:
            BrokenExecutor: the process was killed twice over it.
        """
        call = partial(function, *args, **kwargs)
        executor = self._executor
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, call)
        except BrokenExecutor:
            if self._executor is executor:
                _log.warning("gates_restarted", task_id=expected.task.task_id, hotkey=expected.hotkey)
                self._executor = self._start()
            return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    async def close(self) -> None:
        """End the process."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)
