"""Pool of processes that analyze bundles: each bundle is analyzed once in memory, however many local miners ask."""

import asyncio
import os
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol

from miner.analysis import Analysis
from sssa.protocol.limits import MIB
from sssa.protocol.skill_types import SkillType
from validator.workers.interface import Budget, Whose
from validator.workers.pool import WorkerPool

Files = Mapping[str, bytes]
AnalyseFunction = Callable[[Files, SkillType, str | None], Analysis]

_Key = tuple[str, SkillType, str | None]  # sha256, skill type, marker
_KEPT: Final = 1_024
_BUDGET: Final = Budget(memory=4_096 * MIB)  # the engine's, too, which bounds itself
NICENESS: Final = 1  # what is timed must not wait for what is not; any more, and a busy machine makes answers late


class Analyser(Protocol):
    """Concludes what a bundle is."""

    async def analyse(self, sha256: str, files: Files, skill_type: SkillType, marker: str | None) -> Analysis:
        """Return the analysis of the bundle `files` whose compressed bytes have this sha256."""


class Spent(NamedTuple):
    """Cost of one analysis.

    Attributes:
        seconds: of processor time; waiting for a processor is no part of it.
    """

    sha256: str
    skill_type: SkillType
    seconds: float


def analyse_bundle(files: Files, skill_type: SkillType, marker: str | None) -> Analysis:
    """Return the reference analysis; loads it first, which the caller's process never needs."""
    from miner.analysis import analyse  # noqa: PLC0415 - takes a second: in the workers only

    return analyse(files, skill_type, canary_marker=marker)


class AnalysisPool:
    """Analyses in worker processes: one analysis per (bundle, type, marker), however many miners ask for it.

    Args:
        function: what a worker runs; must be importable by name.

    Attributes:
        spent: what each of the newest analyses cost, in the order in which they ended.
    """

    def __init__(self, workers: int = 2, function: AnalyseFunction = analyse_bundle) -> None:
        self._workers = WorkerPool(workers, preload=("miner.analysis",), budget=_BUDGET, nice=NICENESS)
        self._function = function
        self._tasks: OrderedDict[_Key, asyncio.Task[tuple[Analysis, float]]] = OrderedDict()
        self.spent: deque[Spent] = deque(maxlen=_KEPT)

    async def analyse(self, sha256: str, files: Files, skill_type: SkillType, marker: str | None) -> Analysis:
        """Return the analysis, made now, made before, or being made for someone else.

        Raises:
            TooCostlyError: two workers died over this bundle.
        """
        key = sha256, skill_type, marker
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(self._measured(key, dict(files)))
            task.add_done_callback(lambda done: self._forget_failure(key, done))
            if len(self._tasks) > _KEPT:
                self._forget_oldest()
        self._tasks.move_to_end(key)
        analysis, _ = await asyncio.shield(task)  # anyone who stops waiting must not stop it for the others
        return analysis

    def seconds(self, sha256: str, skill_type: SkillType, marker: str | None) -> float:
        """Return what the analysis cost, of processor time; 0 where none is kept, or it has not ended."""
        task = self._tasks.get((sha256, skill_type, marker))
        ended = task is not None and task.done() and not task.cancelled() and task.exception() is None
        return task.result()[1] if task is not None and ended else 0.0

    async def close(self) -> None:
        """Stop the workers; analyses that are not finished are dropped."""
        waiting = [task for task in self._tasks.values() if not task.done()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        self._tasks.clear()
        await self._workers.close()

    async def _measured(self, key: _Key, files: dict[str, bytes]) -> tuple[Analysis, float]:
        sha256, skill_type, marker = key
        work = partial(_timed, self._function, files, skill_type, marker)
        made = await self._workers.run(Whose(sha256), lambda: work)
        self.spent.append(Spent(sha256, skill_type, made[1]))
        return made

    def _forget_failure(self, key: _Key, task: "asyncio.Task[tuple[Analysis, float]]") -> None:
        if (task.cancelled() or task.exception() is not None) and self._tasks.get(key) is task:
            del self._tasks[key]

    def _forget_oldest(self) -> None:
        oldest = next((key for key, task in self._tasks.items() if task.done()), None)
        if oldest is not None:
            del self._tasks[oldest]


def _timed(
    function: AnalyseFunction, files: Files, skill_type: SkillType, marker: str | None
) -> tuple[Analysis, float]:
    """Return what the function returns, and the seconds of processor time that it and its scanners took."""
    began = sum(os.times()[:4])
    analysis = function(files, skill_type, marker)
    return analysis, sum(os.times()[:4]) - began
