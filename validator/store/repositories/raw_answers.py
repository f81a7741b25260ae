"""What is known for good of the raw bytes of a round's answers (SPEC 16, D-28)."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, UnsetType
from sqlalchemy import and_, select

from validator.protocol.round import RawAnswer, RawAnswers
from validator.store.dispatch import Dispatch
from validator.store.repositories.base import ROUND, Repository
from validator.store.tables import dispatches, rounds, tasks

_FORM: Final = select(rounds.c.record_form).where(rounds.c.round_id == ROUND)
_OF_ROUND: Final = (
    select(tasks.c.task_id, dispatches.c.hotkey, dispatches.c.raw)
    .outerjoin(dispatches, and_(dispatches.c.round_id == tasks.c.round_id, dispatches.c.task_id == tasks.c.task_id))
    .where(tasks.c.round_id == ROUND)
    .order_by(tasks.c.position, dispatches.c.rank)
)


class RawDigests(Repository):
    """Digests as they were made when answers arrived; retention of the bytes leaves them alone."""

    async def of_round(self, round_id: int) -> RawAnswers | UnsetType:
        """Return them in plan order, a list per task; unset where the round was frozen before they were kept."""
        if not await self._kept(round_id):
            return UNSET
        found: dict[str, list[RawAnswer | None]] = {}
        for row in await self._rows_of(round_id, _OF_ROUND):
            members = found.setdefault(row.task_id, [])
            if row.hotkey is not None:
                members.append(row.raw)
        return tuple(map(tuple, found.values()))

    async def among(
        self, round_id: int, task_ids: Iterable[str], planned: Iterable[Dispatch]
    ) -> RawAnswers | UnsetType:
        """Return `of_round` from what was read before: the round's tasks and dispatches, both in plan order."""
        if not await self._kept(round_id):
            return UNSET
        found: dict[str, list[RawAnswer | None]] = {task_id: [] for task_id in task_ids}
        for one in planned:
            found[one.key.task_id].append(one.raw)
        return tuple(map(tuple, found.values()))

    async def _kept(self, round_id: int) -> bool:
        form = await self._all_of(round_id, _FORM)
        return bool(form) and form[0].record_form is not None
