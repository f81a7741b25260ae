"""What is known for good of the raw bytes of a round's answers (SPEC 16, D-28)."""

from msgspec import UNSET, UnsetType
from sqlalchemy import and_, select

from validator.protocol.round import RawAnswer, RawAnswers
from validator.store.repositories.base import Repository
from validator.store.tables import dispatches, rounds, tasks


class RawDigests(Repository):
    """Digests as they were made when answers arrived; retention of the bytes leaves them alone."""

    async def of_round(self, round_id: int) -> RawAnswers | UnsetType:
        """Return them in plan order, a list per task; unset where the round was frozen before they were kept."""
        form = await self._scalar(select(rounds.c.record_form).where(rounds.c.round_id == round_id))
        if form is None:
            return UNSET
        d = dispatches.c
        its = and_(d.round_id == tasks.c.round_id, d.task_id == tasks.c.task_id)
        statement = select(tasks.c.task_id, d.hotkey, d.raw).select_from(tasks.outerjoin(dispatches, its))
        found: dict[str, list[RawAnswer | None]] = {}
        ordered = statement.where(tasks.c.round_id == round_id).order_by(tasks.c.position, d.rank)
        for row in await self._all(ordered):
            members = found.setdefault(row.task_id, [])
            if row.hotkey is not None:
                members.append(row.raw)
        return tuple(map(tuple, found.values()))
