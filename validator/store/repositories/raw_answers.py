"""What is known for good of the raw bytes of a round's answers (SPEC 16, D-28)."""

from typing import Final

from sqlalchemy import and_, select

from validator.protocol.round import RawAnswer, RawAnswers
from validator.store.repositories.base import ROUND, Repository
from validator.store.tables import dispatches, tasks

_OF_ROUND: Final = (
    select(tasks.c.task_id, dispatches.c.hotkey, dispatches.c.raw)
    .outerjoin(dispatches, and_(dispatches.c.round_id == tasks.c.round_id, dispatches.c.task_id == tasks.c.task_id))
    .where(tasks.c.round_id == ROUND)
    .order_by(tasks.c.position, dispatches.c.rank)
)


class RawDigests(Repository):
    """Digests as they were made when answers arrived; retention of the bytes leaves them alone."""

    async def of_round(self, round_id: int) -> RawAnswers:
        """Return them in plan order, a list per task."""
        found: dict[str, list[RawAnswer | None]] = {}
        for row in await self._rows_of(round_id, _OF_ROUND):
            members = found.setdefault(row.task_id, [])
            if row.hotkey is not None:
                members.append(row.raw)
        return tuple(map(tuple, found.values()))
