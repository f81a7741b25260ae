"""Score windows (SPEC 11): every entry is kept, the newest of a miner and type count."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import func, select, true

from validator.store.errors import MismatchError
from validator.store.records import WindowEntry
from validator.store.repositories.base import ROUND, Repository
from validator.store.repositories.newest import newest_of_each
from validator.store.tables import window_entries

_W: Final = window_entries.c
_OF_ROUND: Final = (
    select(_W.hotkey, _W.skill_type, _W.round_id, _W.task_id, _W.value)
    .where(_W.round_id == ROUND)
    .order_by(_W.sequence)
)
_NEWEST: Final = select(func.max(_W.round_id)).where(_W.round_id <= ROUND).scalar_subquery()
_END_OF: Final = select(func.max(_W.sequence).label("end")).where(_W.round_id == _NEWEST)


class Windows(Repository):
    """Window entries in the order in which they were added."""

    async def add(self, entries: Sequence[WindowEntry]) -> None:
        """Append entries; their order is that of the sequence (a round's: plan order).

        Raises:
            MismatchError: a round enters a miner's task twice.
        """
        entered = [_entered(entry) for entry in entries]
        for round_id in {entry.round_id for entry in entries}:
            entered += [_entered(entry) for entry in await self.of_round(round_id)]
        if len(set(entered)) != len(entered):
            raise MismatchError("a round enters a miner's task into a window twice")
        first = await self._next(window_entries, "sequence")
        await self._insert(
            window_entries,
            [
                {
                    "hotkey": entry.hotkey,
                    "skill_type": entry.skill_type,
                    "round_id": entry.round_id,
                    "task_id": entry.task_id,
                    "sequence": sequence,
                    "value": entry.value,
                }
                for sequence, entry in enumerate(entries, first)
            ],
        )

    async def all(self, most: int, through: int | None = None) -> dict[str, dict[str, list[float]]]:
        """Return hotkey -> skill type -> the newest `most` values, oldest first; with `through` as of that sequence."""
        w = window_entries.c
        where = true() if through is None else w.sequence <= through
        columns = (w.hotkey, w.skill_type, w.sequence, w.value)
        newest = newest_of_each(self._dialect, window_entries, columns, w.sequence, most, where=where)
        found: dict[str, dict[str, list[float]]] = {}
        ordered = select(newest).order_by(newest.c.hotkey, newest.c.skill_type, newest.c.sequence)
        async for row in self._stream(ordered):
            found.setdefault(row.hotkey, {}).setdefault(row.skill_type, []).append(row.value)
        return found

    async def of_round(self, round_id: int) -> tuple[WindowEntry, ...]:
        """Return what a round added, in its order."""
        return tuple(WindowEntry(**row._asdict()) for row in await self._all_of(round_id, _OF_ROUND))

    async def rounds_of(self, hotkey: str, task_id: str) -> tuple[int, ...]:
        """Return the rounds that added an entry for the miner's answer to a task; an honest store has at most one."""
        w = window_entries.c
        statement = select(w.round_id).where(w.hotkey == hotkey, w.task_id == task_id).order_by(w.sequence)
        return tuple(row.round_id for row in await self._all(statement))

    async def end_of(self, round_id: int) -> int:
        """Return the sequence of the newest entry when the round had settled, -1 when there was none.

        Rounds settle in their order, so it is the last one of the newest round until then that added any.
        """
        newest = await self._all_of(round_id, _END_OF)
        return newest[0].end if newest and newest[0].end is not None else -1

    async def newest(
        self, hotkey: str, skill_type: str, limit: int, through: int | None = None
    ) -> tuple[WindowEntry, ...]:
        """Return the pair's newest `limit` entries, oldest first; with `through` as of that sequence."""
        w = window_entries.c
        pair = (w.hotkey == hotkey) & (w.skill_type == skill_type)
        statement = select(w.hotkey, w.skill_type, w.round_id, w.task_id, w.value).where(pair)
        if through is not None:
            statement = statement.where(w.sequence <= through)
        found = await self._all(statement.order_by(w.sequence.desc()).limit(limit))
        return tuple(WindowEntry(**row._asdict()) for row in reversed(found))

    async def added_after(self, hotkey: str, skill_type: str, sequence: int) -> int:
        """Return how many entries of the pair came after this sequence."""
        w = window_entries.c
        later = select(func.count()).where(w.hotkey == hotkey, w.skill_type == skill_type, w.sequence > sequence)
        return int(await self._scalar(later))


def _entered(entry: WindowEntry) -> tuple[int, str, str, str]:
    return entry.round_id, entry.task_id, entry.hotkey, entry.skill_type
