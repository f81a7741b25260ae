"""A task source over tasks that are already in memory: the local network, dry runs, tests."""

from collections.abc import Iterable

from validator.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.tasks.rotation import Rotation
from validator.tasks.source import SourcedTask


class MemorySource:
    """Serves each type in turn, in the order given; the same bundle counts once per type.

    Args:
        tasks: checked tasks.
    """

    def __init__(self, tasks: Iterable[SourcedTask] = ()) -> None:
        self._tasks: dict[SkillType, dict[str, SourcedTask]] = {kind: {} for kind in ASSESSED_TYPES}
        self._turns: dict[SkillType, Rotation[str]] = {kind: Rotation() for kind in ASSESSED_TYPES}
        for task in tasks:
            self.add(task)

    def add(self, task: SourcedTask) -> None:
        """Take in one more task; a bundle that is there already for its type stays as it is."""
        self._tasks[task.task.skill_type].setdefault(task.task.bundle_sha256, task)

    async def fetch(self, skill_type: SkillType, count: int, exclude: frozenset[str]) -> list[SourcedTask]:
        """Return up to `count` tasks; see `TaskSource`."""
        tasks, turns = self._tasks[skill_type], self._turns[skill_type]
        chosen = turns.rank(tasks, exclude)[:count]
        for sha256 in chosen:
            turns.served(sha256)
        return [tasks[sha256] for sha256 in chosen]

    async def bundle(self, sha256: str) -> bytes | None:
        """Return the bundle with this hash, None if there is none."""
        return next((tasks[sha256].bundle for tasks in self._tasks.values() if sha256 in tasks), None)

    async def reachable(self) -> bool:
        """Return True: memory is always there."""
        return True

    async def close(self) -> None:
        """Do nothing."""
