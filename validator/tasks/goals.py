"""Workflow tasks: `workflow.json` files below the operator's task folder, or goals in memory (SPEC 12)."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import structlog

from sssa.protocol import limits
from sssa.protocol.skill_types import SkillType
from sssa.protocol.strict_json import JsonError
from sssa.protocol.text import printable
from sssa.protocol.workflow_task import WorkflowTask, parse_workflow_task, task_sha256
from validator.tasks.folder import WORKFLOW_NAME, folders, read_bounded
from validator.tasks.source import Order, TaskError

_log = structlog.get_logger()


class GoalSource(Protocol):
    """Gives out workflow tasks, each checked whole."""

    async def fetch(self, count: int, order: Order) -> list[WorkflowTask]:
        """Return up to `count` different tasks, those that are due first; `order` ranks them by `task_sha256`."""

    async def all(self) -> tuple[WorkflowTask, ...]:
        """Return every task that could be given out now."""


class MemoryGoals:
    """Serves goals.

    Args:
        tasks: checked tasks; the same one counts once.
    """

    def __init__(self, tasks: Iterable[WorkflowTask] = ()) -> None:
        self._tasks = {task_sha256(task): task for task in tasks}

    async def fetch(self, count: int, order: Order) -> list[WorkflowTask]:
        """Return up to `count` tasks; see `GoalSource`."""
        return await _take(self._tasks, count, order)

    async def all(self) -> tuple[WorkflowTask, ...]:
        """Return every task."""
        return tuple(self._tasks.values())


class DirectoryGoals:
    """Every `workflow.json` at or below one folder.

    The files are read again on every fetch, in a thread. A broken one is left out and logged (`task_refused`) once for
    each fault it is found with; a folder that is not there holds none.
    """

    def __init__(self, path: Path) -> None:
        self._root = path
        self._refused: dict[Path, str] = {}

    async def fetch(self, count: int, order: Order) -> list[WorkflowTask]:
        """Return up to `count` tasks; see `GoalSource`."""
        return await _take(await self._usable(), count, order)

    async def all(self) -> tuple[WorkflowTask, ...]:
        """Return every task in the folder that is whole."""
        return tuple((await self._usable()).values())

    async def _usable(self) -> dict[str, WorkflowTask]:
        usable, refused = await asyncio.to_thread(_read_all, self._root)
        for path, fault in refused.items():
            if self._refused.get(path) != fault:
                _log.warning("task_refused", task=printable(path.parent.name), reason=printable(fault, 500))
        self._refused = refused
        return usable


def find_goals(root: Path) -> list[Path]:
    """Return every `workflow.json` at or below `root`, sorted; hidden folders and links to folders are left out.

    A `root` that is such a file is the only one.
    """
    if root.is_file() and root.name == WORKFLOW_NAME:
        return [root]
    goals = []
    for folder, _, files in folders(root):
        if WORKFLOW_NAME in files:
            goals.append(Path(folder, WORKFLOW_NAME))
    return sorted(goals, key=lambda path: path.relative_to(root).as_posix())


def read_goal(path: Path) -> WorkflowTask:
    """Return the workflow task in the file `path`, checked whole. Blocks: call it in a thread.

    Raises:
        TaskError: the fault, and the field it is at.
    """
    try:
        return parse_workflow_task(read_bounded(path, limits.MAX_TASK_BODY))
    except JsonError as error:
        raise TaskError(f"{WORKFLOW_NAME}: {error.detail}") from None


def _read_all(root: Path) -> tuple[dict[str, WorkflowTask], dict[Path, str]]:
    usable: dict[str, WorkflowTask] = {}
    refused: dict[Path, str] = {}
    for path in find_goals(root):
        try:
            task = read_goal(path)
        except TaskError as error:
            refused[path] = error.detail
        else:
            usable.setdefault(task_sha256(task), task)
    return usable, refused


async def _take(tasks: Mapping[str, WorkflowTask], count: int, order: Order) -> list[WorkflowTask]:
    return [tasks[sha256] for sha256 in (await order.rank(SkillType.WORKFLOW, tasks))[:count]]
