"""Score windows (SPEC 11): every entry is kept, the newest 100 of a miner and type count."""

from collections.abc import Sequence

from sqlalchemy import func, select

from validator.protocol.scoring_version import SCORE_WINDOW
from validator.store.records import WindowEntry
from validator.store.repositories.base import Repository
from validator.store.tables import window_entries


class Windows(Repository):
    """Window entries in the order in which they were added."""

    async def add(self, entries: Sequence[WindowEntry]) -> None:
        """Append entries; their order is that of the sequence (a round's: plan order)."""
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

    async def all(self) -> dict[str, dict[str, list[float]]]:
        """Return hotkey -> skill type -> the newest 100 values, oldest first."""
        return await self._windows(None)

    async def of(self, hotkey: str) -> dict[str, list[float]]:
        """Return one miner's skill type -> the newest 100 values, oldest first."""
        return (await self._windows(hotkey)).get(hotkey, {})

    async def of_round(self, round_id: int) -> tuple[WindowEntry, ...]:
        """Return what a round added, in its order."""
        w = window_entries.c
        statement = select(w.hotkey, w.skill_type, w.round_id, w.task_id, w.value).where(w.round_id == round_id)
        found = await self._all(statement.order_by(w.sequence))
        return tuple(WindowEntry(**row._asdict()) for row in found)

    async def _windows(self, hotkey: str | None) -> dict[str, dict[str, list[float]]]:
        w = window_entries.c
        age = func.row_number().over(partition_by=(w.hotkey, w.skill_type), order_by=w.sequence.desc())
        aged = select(w.hotkey, w.skill_type, w.value, age.label("age"))
        entries = (aged if hotkey is None else aged.where(w.hotkey == hotkey)).subquery()
        newest = select(entries).where(entries.c.age <= SCORE_WINDOW)
        found: dict[str, dict[str, list[float]]] = {}
        async for row in self._stream(newest.order_by(entries.c.hotkey, entries.c.skill_type, entries.c.age.desc())):
            found.setdefault(row.hotkey, {}).setdefault(row.skill_type, []).append(row.value)
        return found
