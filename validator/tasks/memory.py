"""A task source over tasks that are already in memory: the local network, dry runs, tests."""

from collections.abc import Iterable

from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.protocol.task import Task
from validator.tasks.order import Order
from validator.tasks.source import SourcedTask


class MemorySource:
    """Serves tasks of each type; the same bundle counts once per type.

    Args:
        tasks: checked tasks.
    """

    def __init__(self, tasks: Iterable[SourcedTask] = ()) -> None:
        self._tasks: dict[SkillType, dict[str, SourcedTask]] = {kind: {} for kind in ASSESSED_TYPES}
        for task in tasks:
            self.add(task)

    def add(self, task: SourcedTask) -> None:
        """Take in one more task; a bundle that is there already for its type stays as it is."""
        self._tasks[task.task.skill_type].setdefault(task.task.bundle_sha256, task)

    async def fetch(self, skill_type: SkillType, count: int, order: Order) -> list[SourcedTask]:
        """Return up to `count` tasks; see `TaskSource`."""
        tasks = self._tasks[skill_type]
        return [tasks[sha256] for sha256 in (await order.rank(skill_type, tasks))[:count]]

    async def listed(self, skill_type: SkillType, count: int, order: Order) -> list[Task]:
        """Return the tasks that `fetch` would return."""
        return [sourced.task for sourced in await self.fetch(skill_type, count, order)]

    async def bundle(self, sha256: str) -> bytes | None:
        """Return the bundle with this hash, None if there is none."""
        return next((tasks[sha256].bundle for tasks in self._tasks.values() if sha256 in tasks), None)

    async def reachable(self) -> bool:
        """Return True: memory is always there."""
        return True

    async def close(self) -> None:
        """Do nothing."""
