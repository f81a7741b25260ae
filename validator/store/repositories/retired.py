"""Retired tasks: their truth may be shown, and they are never given again (SPEC 16, D-31)."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from sqlalchemy import and_, or_, select

from validator.protocol.skill_types import SkillType
from validator.store.repositories.base import Repository
from validator.store.tables import given_tasks, retired_tasks, rounds, tasks

_ASKED_AT_ONCE: Final = 2_000  # hashes in a statement; both databases take 32,766 parameters


class RetiredTasks(Repository):
    """Tasks by the sha256 of what they came from: one that comes again has the same, and is as retired."""

    async def add(self, sources: Collection[str], at: datetime) -> int:
        """Retire tasks; return how many were not before."""
        new = sorted(set(sources) - await self.among(sources))
        await self._insert(retired_tasks, [{"source_sha256": one, "retired_at": at} for one in new])
        return len(new)

    async def among(self, sources: Collection[str]) -> set[str]:
        """Return those of `sources` that are retired."""
        found: set[str] = set()
        for some in _parts(sources):
            rows = await self._all(select(retired_tasks.c.source_sha256).where(retired_tasks.c.source_sha256.in_(some)))
            found |= {row.source_sha256 for row in rows}
        return found

    async def listing(self) -> list[tuple[str, datetime]]:
        """Return every retired task with its time, in the order of their retiring."""
        statement = select(retired_tasks).order_by(retired_tasks.c.retired_at, retired_tasks.c.source_sha256)
        return [(row.source_sha256, row.retired_at) for row in await self._all(statement)]

    async def of_round(self, round_id: int) -> set[str]:
        """Return the ids of a round's tasks whose truth may be shown: retired ones, and canaries made for the round.

        Not while an open round has the same task.
        """
        asked = select(tasks.c.source_sha256).join(rounds, rounds.c.round_id == tasks.c.round_id)
        asked_now = asked.where(rounds.c.state == "open")
        retired = select(retired_tasks.c.source_sha256)
        of_round = select(tasks.c.source_sha256).where(tasks.c.round_id == round_id)
        given = select(given_tasks.c.source_sha256).where(given_tasks.c.source_sha256.in_(of_round))
        source = tasks.c.source_sha256
        may = or_(source.in_(retired), and_(tasks.c.provenance == "canary", source.not_in(given)))
        statement = select(tasks.c.task_id).where(tasks.c.round_id == round_id, may, source.not_in(asked_now))
        return {row.task_id for row in await self._all(statement)}

    async def known(
        self,
        names: Collection[str] | None = None,
        *,
        skill_types: Collection[SkillType] = (),
        before: datetime | None = None,
    ) -> list[str]:
        """Return the digests of tasks that a source gave and that were in rounds, sorted.

        Args:
            names: task ids, digests of sources or of goals; None for all.
            skill_types: only of these; of every type where there are none.
            before: only those whose last round began before this.
        """
        statement = select(given_tasks.c.source_sha256).distinct()
        if skill_types:
            statement = statement.where(given_tasks.c.skill_type.in_([str(one) for one in skill_types]))
        if before is not None:
            later = select(given_tasks.c.source_sha256).join(rounds, rounds.c.round_id == given_tasks.c.last_round)
            statement = statement.where(given_tasks.c.source_sha256.not_in(later.where(rounds.c.started_at >= before)))
        found: set[str] = set()
        if names is None:
            found = {row.source_sha256 for row in await self._all(statement)}
        for some in _parts(names or ()):
            named = select(tasks.c.source_sha256).where(or_(tasks.c.task_id.in_(some), tasks.c.bundle_sha256.in_(some)))
            either = or_(given_tasks.c.source_sha256.in_(some), given_tasks.c.source_sha256.in_(named))
            found |= {row.source_sha256 for row in await self._all(statement.where(either))}
        return sorted(found)


def _parts(names: Collection[str]) -> Iterator[list[str]]:
    every = sorted(set(names))
    for start in range(0, len(every), _ASKED_AT_ONCE):
        yield every[start : start + _ASKED_AT_ONCE]
