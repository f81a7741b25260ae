"""How often each task was given: what the next ones are chosen by (SPEC 16, D-29)."""

from collections.abc import Collection, Mapping
from typing import Final

from sqlalchemy import case, func, select

from validator.protocol.skill_types import SkillType
from validator.store.repositories.base import Repository
from validator.store.tables import given_tasks

_ASKED_AT_ONCE: Final = 2_000  # hashes in a statement; both databases take 32,766 parameters


class GivenTasks(Repository):
    """Tasks by (skill_type, source_sha256).

    `given` counts rounds, with one exception: what was given less often than others of its type catches up at once, to
    the most that any of them was. A task that is new to a folder is due before all others, but only once: else it would
    be asked until it had been given as often as they were over months.
    """

    async def give(self, round_id: int, given: Mapping[SkillType, Collection[str]]) -> None:
        """Count tasks that are frozen into a round; call it once per round, in the transaction that opens it."""
        for skill_type, sources in given.items():
            mine = given_tasks.c.skill_type == skill_type
            most = await self._scalar(select(func.max(given_tasks.c.given)).where(mine)) or 0
            once_more = given_tasks.c.given + 1
            statement = self._dialect_insert(given_tasks).on_conflict_do_update(
                index_elements=["skill_type", "source_sha256"],
                set_={"given": case((once_more > most, once_more), else_=most), "last_round": round_id},
            )
            first = {"skill_type": skill_type, "given": max(1, most), "last_round": round_id}
            rows = [first | {"source_sha256": sha256} for sha256 in sorted(set(sources))]
            if rows:
                await self._connection.execute(statement, rows)

    async def counts(self, skill_type: SkillType, sources: Collection[str]) -> dict[str, int]:
        """Return how often those of `sources` were given that ever were."""
        wanted, found = list(sources), dict[str, int]()
        for start in range(0, len(wanted), _ASKED_AT_ONCE):
            some = given_tasks.c.source_sha256.in_(wanted[start : start + _ASKED_AT_ONCE])
            statement = select(given_tasks.c.source_sha256, given_tasks.c.given)
            rows = await self._all(statement.where(given_tasks.c.skill_type == skill_type, some))
            found |= {row.source_sha256: row.given for row in rows}
        return found

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:
        """Return at most `most` tasks of a type, those given last first."""
        statement = (
            select(given_tasks.c.source_sha256)
            .where(given_tasks.c.skill_type == skill_type)
            .order_by(given_tasks.c.last_round.desc(), given_tasks.c.source_sha256)
            .limit(most)
        )
        return [row.source_sha256 for row in await self._all(statement)]
