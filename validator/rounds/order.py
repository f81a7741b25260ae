"""The order in which this validator gives its tasks: no two validators have the same (SPEC 16, D-29)."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

import structlog

from validator.protocol.skill_types import SkillType
from validator.store import Store
from validator.tasks.source import least_given

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class EpochOrder:
    """The order of one epoch's rounds. See `Order`.

    It follows from the store and the salt alone, so that it is the same after a restart; nobody who lacks the salt can
    tell it.

    Args:
        store: knows what was given.
        epoch: that the round is in.
        salt: of that epoch; secret while in use, therefore shown nowhere.
    """

    store: Store
    epoch: int
    salt: bytes = field(repr=False)

    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:
        """Return `sources` without those that are retired, the next one first."""
        async with self.store.read() as tx:
            retired = await tx.retired.among(sources)
            given = await tx.given_tasks.counts(skill_type, sources)
        if retired:
            _log.info(
                "tasks_retired", skill_type=str(skill_type), skipped=len(retired), left=len(sources) - len(retired)
            )
        return await asyncio.to_thread(
            least_given, given, self.salt, self.epoch, [one for one in sources if one not in retired]
        )

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:
        """Return what was given last, newest first."""
        async with self.store.read() as tx:
            return await tx.given_tasks.recent(skill_type, most)
