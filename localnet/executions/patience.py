"""Rounds of the local network follow each other at once; here they wait for what is run again, as hours would."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from validator.protocol.skill_types import SkillType
from validator.sources import Clock
from validator.store import Store
from validator.tasks.order import Order
from validator.tasks.source import SourcedTask, TaskSource

MOST_S: Final = 120.0
_LOOK_S: Final = 0.5


async def _at_once() -> None:
    return


@dataclass(slots=True)
class PatientSource:
    """A task source that gives out nothing before `ready` has returned."""

    inner: TaskSource
    ready: Callable[[], Awaitable[None]] = field(default=_at_once)

    async def fetch(self, skill_type: SkillType, count: int, order: Order) -> list[SourcedTask]:
        """Wait, then return what the inner source does."""
        await self.ready()
        return await self.inner.fetch(skill_type, count, order)

    async def reachable(self) -> bool:
        """Return what the inner source does."""
        return await self.inner.reachable()

    async def close(self) -> None:
        """Close the inner source."""
        await self.inner.close()


async def all_run_again(store: Store, clock: Clock, most_s: float = MOST_S) -> None:
    """Return when no answer waits to be run again, or after so long: an engine that fails must not stop rounds."""
    until = clock.monotonic() + most_s
    while clock.monotonic() < until:
        async with store.read() as tx:
            if not await tx.executions.unended():
                return
        await clock.sleep(_LOOK_S)
