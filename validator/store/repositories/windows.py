"""Entries of score windows (SPEC 11) as the rows of dispatches list them. The windows that pay are in the state."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Subquery, and_, func, literal, or_, select, true, union_all, update

from sssa.protocol.dispatch_record import DispatchKey
from sssa.protocol.round import ExecutionResult
from sssa.protocol.skill_types import SkillType
from validator.store.errors import MismatchError
from validator.store.repositories.repository import ROUND, Repository
from validator.store.rows import WindowEntry
from validator.store.tables import dispatches, miners, tasks

_D: Final = dispatches.c
_ENTERED: Final = func.coalesce(_D.entered_in, _D.round_id)
_PLACED: Final = and_(tasks.c.round_id == _D.round_id, tasks.c.task_id == _D.task_id)
_ENTRIES: Final = (
    select(_D.hotkey, _D.skill_type, _D.round_id, _D.task_id, _D.entry, _D.entered_in)
    .join(tasks, _PLACED)
    .where(_D.entry.is_not(None))
)
_ORDER: Final = (_ENTERED, _D.round_id, tasks.c.position, _D.rank)  # late ones are of earlier rounds
_OF_ROUND: Final = _ENTRIES.where(
    or_(and_(_D.round_id == ROUND, _D.entered_in.is_(None)), _D.entered_in == ROUND)
).order_by(*_ORDER)
_SAME_ROUND: Final = 50  # more than the entries that a round adds to a pair


class Windows(Repository):
    """Entries in the order in which they were added."""

    async def enter(self, round_id: int, entries: Sequence[WindowEntry]) -> None:
        """Note what a round that is being settled adds (MismatchError: an entry belongs to no dispatch)."""
        for entry in entries:
            late = None if entry.round_id == round_id else round_id
            statement = update(dispatches).where(_at(DispatchKey(entry.round_id, entry.task_id, entry.hotkey)))
            if not await self._changed(statement.values(entry=entry.value, entered_in=late)):
                raise MismatchError(f"an entry of {entry.hotkey} for task {entry.task_id}, which it did not get")

    async def strike(self, struck: Sequence[ExecutionResult]) -> dict[DispatchKey, float]:
        """Set entries to 0 (D-30); return what each was worth."""
        worth = {}
        for one in struck:
            key = DispatchKey(int(one.round_id), one.task_id, one.hotkey)
            worth[key] = await self._scalar(select(_D.entry).where(_at(key))) or 0.0
            await self._changed(update(dispatches).where(_at(key), _D.entry.is_not(None)).values(entry=0.0))
        return worth

    async def of_round(self, round_id: int) -> tuple[WindowEntry, ...]:
        """Return what a round added, in its order."""
        return tuple([_entry(row) for row in await self._all_of(round_id, _OF_ROUND)])

    async def entered_in(self, key: DispatchKey) -> int | None:
        """Return the round that added an answer's entry, None if none has."""
        row = await self._first(select(_ENTERED.label("entered")).where(_at(key), _D.entry.is_not(None)))
        return None if row is None else int(row.entered)

    async def newest(self, hotkey: str, most: int, through: int) -> dict[str, list[WindowEntry]]:
        """Return a miner's newest `most` entries of each skill type as a round left them, oldest first."""
        place = func.row_number().over(partition_by=_D.skill_type, order_by=[by.desc() for by in _ORDER])
        mine = _ENTRIES.add_columns(place.label("place")).where(_D.hotkey == hotkey, through >= _ENTERED).subquery()
        entries: dict[str, list[WindowEntry]] = {}
        for row in await self._all(select(mine).where(mine.c.place <= most).order_by(mine.c.place.desc())):
            entries.setdefault(row.skill_type, []).append(_entry(row))
        return entries

    async def added_after(self, hotkey: str, round_id: int) -> Counter[str]:
        """Return how many entries of a miner later rounds added, by skill type."""
        later = select(_D.skill_type, func.count().label("many")).where(_D.hotkey == hotkey, _D.entry.is_not(None))
        rows = await self._all(later.where(round_id < _ENTERED).group_by(_D.skill_type))
        return Counter({row.skill_type: row.many for row in rows})

    async def all(self, most: int, through: int, hotkeys: Collection[str]) -> dict[str, dict[str, list[float]]]:
        """Return hotkey -> skill type -> the newest `most` values as a round left them, oldest first."""
        newest = _newest_of_each(self._dialect, most + _SAME_ROUND, through)
        placed = and_(tasks.c.round_id == newest.c.round_id, tasks.c.task_id == newest.c.task_id)
        rows = [*await self._all(select(newest, tasks.c.position).join(tasks, placed))]
        late = _ENTRIES.add_columns(tasks.c.position).where(_D.entered_in <= through)
        entries: dict[str, dict[str, list[tuple[int, int, int, float]]]] = {}
        for row in (*rows, *await self._all(late)):
            if row.hotkey in hotkeys:
                entered = getattr(row, "entered_in", None) or row.round_id
                of_type = entries.setdefault(row.hotkey, {}).setdefault(row.skill_type, [])
                of_type.append((entered, row.round_id, row.position, row.entry))
        return {
            hotkey: {name: [value for *_, value in sorted(its)[-most:]] for name, its in of_types.items()}
            for hotkey, of_types in sorted(entries.items())
        }


def _newest_of_each(dialect: str, most: int, through: int) -> Subquery:
    """Return the rows of the `most` newest own entries of each (hotkey, skill_type), as a round left them.

    They are read from the end of an index: a window function would number all rows ever stored to keep a few.
    """
    by, where = _D.round_id, and_(_D.entry.is_not(None), _D.entered_in.is_(None), _D.round_id <= through)
    columns = (_D.hotkey, _D.skill_type, _D.round_id, _D.task_id, _D.entry)
    kinds = union_all(*(select(literal(str(kind)).label("skill_type")) for kind in SkillType)).cte("kinds")
    every = select(miners.c.hotkey, kinds.c.skill_type).select_from(miners.join(kinds, true()))
    if dialect == "postgresql":
        pairs = every.cte("pairs")
        mine = select(*columns).where(_D.hotkey == pairs.c.hotkey, _D.skill_type == pairs.c.skill_type, where)
        entries = mine.order_by(by.desc()).limit(most).lateral("entries")
        return select(entries).select_from(pairs.join(entries, true())).subquery("newest")
    # SQLite knows no LATERAL: first where each pair's part begins, then the parts. It must neither merge the two nor
    # turn the join around, hence MATERIALIZED and the outer join, which finds a row for each pair that is left.
    first = select(by).where(_D.hotkey == miners.c.hotkey, _D.skill_type == kinds.c.skill_type, where)
    last = first.order_by(by.desc()).limit(1).offset(most - 1)
    oldest = func.coalesce(last.correlate(miners, kinds).scalar_subquery(), 0).label("oldest")
    present = every.add_columns(oldest).where(first.correlate(miners, kinds).exists())
    pairs = present.cte("pairs").prefix_with("MATERIALIZED")
    its = and_(_D.hotkey == pairs.c.hotkey, _D.skill_type == pairs.c.skill_type, by >= pairs.c.oldest, where)
    return select(*columns).select_from(pairs.outerjoin(dispatches, its)).subquery("newest")


def _at(key: DispatchKey) -> ColumnElement[bool]:
    return and_(_D.round_id == key.round_id, _D.task_id == key.task_id, _D.hotkey == key.hotkey)


def _entry(row: Any) -> WindowEntry:
    return WindowEntry(row.hotkey, row.skill_type, row.round_id, row.task_id, row.entry)
