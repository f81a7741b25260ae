"""An owner's tasks, read from disk and checked before a start, and the pace of a network over them (SPEC 13)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import structlog
from msgspec.structs import replace

from miner.analysis import Analysis
from miner.analysis_pool import Analyser, Files
from sssa.protocol.bundles import read_bundle
from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import TRUTH_OF_AXIS, Task, Windows, parse_task
from sssa.protocol.text import printable
from sssa.protocol.workflow_task import Reference, WorkflowTask, task_sha256
from sssa.scoring import CURRENT, version
from sssa.sources import Clock
from taskmaker.check import CheckedTask, check_tasks
from validator.tasks.folder import DRAFT_NAME, TASK_NAME, WORKFLOW_NAME, label, read_document, read_task
from validator.tasks.goals import read_goal
from validator.tasks.source import FETCH_S, Order, SourcedTask, TaskError

_BLOCK_S: Final = 12.0
_LEAST_BLOCK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """Speed of the network's time relative to the chain's; 1 or more."""

    times: float = 1.0

    def windows(self, own: Windows | None, skill_type: SkillType) -> Windows:
        """Return a task's windows, else the standard ones of its type, in this network's seconds."""
        real = own or version(CURRENT).rules.windows_of(skill_type)
        (early, late), (auditor_early, auditor_late) = real.primary, real.auditor
        return Windows((early / self.times, late / self.times), (auditor_early / self.times, auditor_late / self.times))

    def task(self, sourced: SourcedTask) -> SourcedTask:
        """Return a task at this pace; at 1 it stays as it is."""
        if self.times == 1:
            return sourced
        task = sourced.task
        paced = replace(task, windows=self.windows(task.windows, task.skill_type))
        return SourcedTask(paced, sourced.bundle, sourced.nonce)

    def goal(self, goal: WorkflowTask) -> WorkflowTask:
        """Return a workflow task at this pace; at 1 it stays as it is."""
        if self.times == 1:
            return goal
        return replace(goal, windows=self.windows(goal.windows, SkillType.WORKFLOW))

    def block_s(self, most: float) -> float:
        """Return seconds from block to block: 12 on chain, here `most` at most."""
        return max(_LEAST_BLOCK_S, min(most, _BLOCK_S / self.times))


class Timed(Analyser, Protocol):
    """Makes analyses, and knows what they cost."""

    def seconds(self, sha256: str, skill_type: SkillType, marker: str | None) -> float:
        """Return seconds of processor time; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class TimedAnalyses:
    """Analyses that take every miner their own time, though they are made once for all and perhaps beforehand.

    What an analysis cost here in processor time is what it takes a miner on its own machine; at a pace that is a
    part of it, as the windows are a part of the real ones.

    Args:
        pool: makes them.
        pace: of the network.
        clock: waits.
    """

    pool: Timed
    pace: Pace
    clock: Clock

    async def analyse(self, sha256: str, files: Files, skill_type: SkillType, marker: str | None) -> Analysis:
        """Return the analysis when its time has passed; see `Analyser`."""
        began = self.clock.monotonic()
        analysis = await self.pool.analyse(sha256, files, skill_type, marker)
        due = began + self.pool.seconds(sha256, skill_type, marker) / self.pace.times
        remaining = due - self.clock.monotonic()
        await (self.clock.sleep(remaining) if remaining > 0 else asyncio.sleep(0))
        return analysis


_MOST_NAMED: Final = 20
_RULES: Final = version(CURRENT).rules
_log = structlog.get_logger()
Key = tuple[SkillType, str]
"""A task as a round names it: its type, and the sha256 of its bundle or of its workflow's document."""


class OwnTasksError(ValidatorError):
    """The tasks cannot be used."""

    def __str__(self) -> str:
        """Return its lines alone: each names its task."""
        return self.detail


@dataclass(frozen=True, slots=True)
class OwnTask:
    """One task.

    Attributes:
        name: its path below the folder, safe to show.
        path: where it is.
        skill_type: its type.
        windows: real ones: its own, else the standard ones of its type.
        has_truth: whether it says what is true; of a workflow, whether it has a reference.
        missing_fields: fields of its truth that its type is measured by and that are null; none without a truth.
    """

    name: str
    path: Path
    skill_type: SkillType
    windows: Windows
    has_truth: bool
    missing_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnTasks:
    """The tasks below a folder; their bundles stay on disk.

    Attributes:
        known: every task, in the order of their paths.
        goals: the workflows, at the network's pace.
        pace: of the network.
    """

    known: Mapping[Key, OwnTask]
    goals: tuple[WorkflowTask, ...]
    pace: Pace

    @property
    def names(self) -> dict[str, str]:
        """Names of the bundles, by sha256."""
        return {sha256: task.name for (_, sha256), task in self.known.items()}

    def of_type(self, skill_type: SkillType) -> dict[str, OwnTask]:
        """Return the tasks of a type by sha256."""
        return {sha256: task for (kind, sha256), task in self.known.items() if kind is skill_type}


def read_own_tasks(root: Path, pace: Pace) -> OwnTasks:
    """Return every task, archive and `workflow.json` at or below `root`. Blocks; holds one bundle at a time.

    Drafts are no tasks: what is still to be decided in one keeps nobody from running the task next to it.

    Raises:
        OwnTasksError: the folder or a task has a problem; a line for each.
    """
    try:
        checked = [one for one in check_tasks(root) if one.path.name != DRAFT_NAME]
    except TaskError as error:
        raise OwnTasksError(error.detail) from None
    if not checked:
        raise OwnTasksError(
            f"{label(root)}: holds drafts alone: one is a task once it is decided and named {TASK_NAME}"
        )
    problems = [f"{_shown(one.path, root)}: {problem}" for one in checked for problem in one.problems]
    if problems:
        more = (
            [f"and {len(problems) - _MOST_NAMED} more: validator tasks check lists them"]
            if problems[_MOST_NAMED:]
            else []
        )
        raise OwnTasksError("\n".join([*problems[:_MOST_NAMED], *more]))
    known: dict[Key, OwnTask] = {}
    goals = []
    for one in checked:
        if one.path.name == WORKFLOW_NAME:
            goal = read_goal(one.path)
            goals.append(pace.goal(goal))
            known[SkillType.WORKFLOW, task_sha256(goals[-1])] = _workflow(one, root, goal)
        else:
            task = parse_task(read_document(one.path))
            key = task.skill_type, task.bundle_sha256.lower()
            known[key] = _assessment(one, root, task)
    return OwnTasks(known, tuple(goals), pace)


def _assessment(one: CheckedTask, root: Path, task: Task) -> OwnTask:
    kind, truth = task.skill_type, task.truth
    windows = task.windows or _RULES.windows_of(kind)
    measured = [TRUTH_OF_AXIS[name] for name, _ in _RULES.types[kind].axes if name in TRUTH_OF_AXIS]
    missing_fields = tuple(field for field in measured if truth is not None and getattr(truth, field) is None)
    return OwnTask(_shown(one.path, root), one.path, kind, windows, truth is not None, missing_fields)


def _workflow(one: CheckedTask, root: Path, goal: WorkflowTask) -> OwnTask:
    folder = one.path.parent if one.path != root else one.path
    windows = goal.windows or _RULES.windows_of(SkillType.WORKFLOW)
    return OwnTask(_shown(folder, root), one.path, SkillType.WORKFLOW, windows, goal.reference != Reference())


def _shown(path: Path, root: Path) -> str:
    return label(path) if path == root else printable(path.relative_to(root).as_posix())


@dataclass(slots=True)
class OwnSource:
    """Gives out an owner's tasks at the network's pace, each once it is analysed.

    One machine stands for those of all miners here: an analysis is made before the round begins, and each miner then
    takes its time for it. What carries a marker differs from round to round and is analysed when it arrives.

    Args:
        tasks: what there is.
        analyses: makes the analyses.
        doing: called with the name of the bundle that is being analyzed.
    """

    tasks: OwnTasks
    analyses: Analyser
    doing: Callable[[str], None]

    async def fetch(
        self,
        skill_type: SkillType,
        count: int,
        order: Order,
        within_s: float = FETCH_S,  # noqa: ARG002 - of servers
    ) -> list[SourcedTask]:
        """Return up to `count` tasks; see `TaskSource`."""
        usable = self.tasks.of_type(skill_type)
        sourced: list[SourcedTask] = []
        for sha256 in await order.rank(skill_type, usable):
            if len(sourced) == count:
                break
            task = await asyncio.to_thread(_read_again, usable[sha256], sha256)
            if task is not None:
                sourced.append(task)
        await asyncio.gather(*(self._analysed(task, usable[task.task.bundle_sha256].name) for task in sourced))
        return [self.tasks.pace.task(task) for task in sourced]

    async def reachable(self) -> bool:
        """Return True: what is on this machine is always there."""
        return True

    async def close(self) -> None:
        """Do nothing: nothing stays open."""

    async def _analysed(self, sourced: SourcedTask, name: str) -> None:
        self.doing(f"analysing {name}")
        await analysed(sourced, self.analyses)


async def analysed(sourced: SourcedTask, analyses: Analyser) -> None:
    """Have a task's bundle analysed; one that takes a marker is another one in every round."""
    task = sourced.task
    if task.canary is not None:
        return
    files = await asyncio.to_thread(read_bundle, sourced.bundle)
    with suppress(Exception):  # the miners will say so
        await analyses.analyse(task.bundle_sha256, files, task.skill_type, None)


def _read_again(task: OwnTask, sha256: str) -> SourcedTask | None:
    """Return the task as it is on disk now; None if it is no longer the one that was checked."""
    try:
        sourced = read_task(task.path)
    except TaskError as error:
        _log.warning("task_refused", task=task.name, reason=printable(error.detail, 500))
        return None
    same = (sourced.task.skill_type, sourced.task.bundle_sha256) == (task.skill_type, sha256)
    if not same:
        _log.warning("task_refused", task=task.name, reason="changed since the start")
    return sourced if same else None
