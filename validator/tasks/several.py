"""One source made of several."""

import structlog

from validator.protocol.skill_types import SkillType
from validator.protocol.text import printable
from validator.tasks.order import Order
from validator.tasks.source import SourcedTask, TaskSource, TaskSourceError

_log = structlog.get_logger()


class SeveralSources:
    """Asks each source in the order of preference until enough tasks are there; each ranks its own.

    A source that fails is logged (`task_source_failed`) and passed over.

    Args:
        sources: the most preferred first.
    """

    def __init__(self, *sources: TaskSource) -> None:
        self._sources = sources

    async def fetch(self, skill_type: SkillType, count: int, order: Order) -> list[SourcedTask]:
        """Return up to `count` tasks; see `TaskSource`.

        Raises:
            TaskSourceError: nothing came and at least one source failed; the text is the first failure's.
        """
        found: dict[str, SourcedTask] = {}
        failures: list[TaskSourceError] = []
        for source in self._sources:
            if len(found) >= count:
                break
            try:
                offered = await source.fetch(skill_type, count, order)
            except TaskSourceError as error:
                _log.warning("task_source_failed", source=type(source).__name__, reason=printable(error.detail, 500))
                failures.append(error)
                continue
            for task in offered:
                found.setdefault(task.task.bundle_sha256, task)
        if failures and not found:
            raise TaskSourceError(failures[0].detail)
        return list(found.values())[:count]

    async def reachable(self) -> bool:
        """Whether all of them are: a directory that always is must not hide that the network is gone (D-6)."""
        for source in self._sources:
            if not await source.reachable():
                return False
        return True

    async def close(self) -> None:
        """Close each, the last one first."""
        for source in reversed(self._sources):
            await source.close()
