"""Tables of work that waits: pending -> running -> ended, or pending again; a try is begun and ended by one alone."""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from sqlalchemy import Column, ColumnElement, Row, Select, Table, and_, func, select, update

from validator.protocol.reasons import Reason
from validator.protocol.work_states import WorkState
from validator.store.records import Upcoming
from validator.store.repositories.base import ROUND, Repository

_UNENDED: Final = ("pending", "running")


class _Taken(Protocol):
    @property
    def work_id(self) -> str: ...
    @property
    def attempts(self) -> int: ...
    @property
    def started_at(self) -> datetime | None: ...


T = TypeVar("T", bound=_Taken)


class WaitingWork(Repository, Generic[T]):
    """What all of these tables have: an id that sorts by age, and the columns of a queue.

    `_table` has a text as its only primary key, and the columns of a queue as `code_checks` has them, with a hotkey for
    `take` and `upcoming`; a state is one of `WORK_STATES`.
    """

    _table: ClassVar[Table]

    @abstractmethod
    def _read(self, row: Row[Any]) -> T:
        """Return the record of a row."""

    async def take(self, now: datetime) -> T | None:
        """Begin a try of the next one that is due; None if there is none.

        Fair between miners: next is one of whoever has the fewest running, then of whoever's last try began longest
        ago, then the oldest.
        """
        c, theirs = self._table.c, self._table.alias("theirs")
        running = select(func.count()).where(theirs.c.hotkey == c.hotkey, theirs.c.state == "running")
        last = select(func.max(theirs.c.started_at)).where(theirs.c.hotkey == c.hotkey)
        due = (
            select(self._id)
            .where(c.state == "pending", c.due_at <= now)
            .order_by(
                running.correlate(self._table).scalar_subquery(),
                last.correlate(self._table).scalar_subquery().asc().nulls_first(),
                self._id,
            )
            .limit(1)
        )
        work_id = await self._scalar(due)
        if work_id is None:
            return None
        begun = {"state": "running", "attempts": c.attempts + 1, "started_at": now}
        await self._changed(update(self._table).where(self._id == work_id, c.state == "pending").values(begun))
        return await self.get(work_id)

    async def claim(self, work_id: str, attempt: int, now: datetime) -> T | None:
        """Begin this try of this one; None if it does not wait for that try."""
        mine = and_(self._id == work_id, self._table.c.state == "pending", self._table.c.attempts == attempt - 1)
        begun = {"state": "running", "attempts": attempt, "started_at": now}
        return await self.get(work_id) if await self._changed(update(self._table).where(mine).values(begun)) else None

    async def upcoming(self, now: datetime, limit: int) -> tuple[Upcoming, ...]:
        """Return what is due, fair between miners: everybody's first, then everybody's second, at most `limit`.

        What a miner has running counts as those before its first.
        """
        c, theirs = self._table.c, self._table.alias("theirs")
        running = select(func.count()).where(theirs.c.hotkey == c.hotkey, theirs.c.state == "running")
        place = func.row_number().over(partition_by=c.hotkey, order_by=self._id) - 1
        turn = (place + running.correlate(self._table).scalar_subquery()).label("turn")
        due = select(self._id.label("work_id"), c.attempts, turn).where(c.state == "pending", c.due_at <= now)
        found = await self._all(due.order_by(turn, self._id).limit(limit))
        return tuple(Upcoming(row.work_id, row.attempts + 1, row.turn) for row in found)

    async def next_due(self) -> datetime | None:
        """Return when the next pending one is due; None where none is pending."""
        c = self._table.c
        found: datetime | None = await self._scalar(select(func.min(c.due_at)).where(c.state == "pending"))
        return found

    async def again(self, taken: T, reason: Reason, due_at: datetime, detail: str = "") -> bool:
        """Put a try back that told nothing of the miner; False if it is no longer the running one."""
        return await self._end(
            taken, {"state": "pending", "reason": reason, "due_at": due_at, "detail": detail or None}
        )

    async def hand_back(self, taken: T, at: datetime) -> bool:
        """Put a try back as if it had not begun; False if it is no longer the running one."""
        return await self._end(taken, {"state": "pending", "attempts": taken.attempts - 1, "due_at": at})

    async def give_up(self, taken: T, reason: Reason, at: datetime, detail: str = "") -> bool:
        """End the try, and the work without a result; False if it is no longer the running one."""
        values = {"state": "inconclusive", "reason": reason, "ended_at": at, "detail": detail or None}
        return await self._end(taken, values)

    async def running(self) -> tuple[T, ...]:
        """Return those that are running: at a start, what a crash left."""
        return await self._where(self._table.c.state == "running")

    async def reopen(self, work_id: str, at: datetime) -> bool:
        """Let an inconclusive one be tried again from the beginning; False if it is not inconclusive."""
        values = {"state": "pending", "attempts": 0, "due_at": at, "ended_at": None}
        mine = and_(self._id == work_id, self._table.c.state == "inconclusive")
        return bool(await self._changed(update(self._table).where(mine).values(values)))

    async def hasten(self, work_id: str, at: datetime) -> bool:
        """Make a pending one due at once; False if it is not pending."""
        mine = and_(self._id == work_id, self._table.c.state == "pending")
        return bool(await self._changed(update(self._table).where(mine).values(due_at=at)))

    async def get(self, work_id: str) -> T | None:
        """Return one of them."""
        row = await self._first(select(self._table).where(self._id == work_id))
        return None if row is None else self._read(row)

    async def of_round(self, round_id: int) -> tuple[T, ...]:
        """Return what belongs to a round's answers, by id."""
        return tuple(map(self._read, await self._all_of(round_id, _of_round(self._table, "round_id"))))

    async def entered_in(self, round_id: int) -> tuple[T, ...]:
        """Return those whose results the round counted, by id."""
        return tuple(map(self._read, await self._all_of(round_id, _of_round(self._table, "entered_in"))))

    async def listing(self, limit: int, state: WorkState | None = None) -> tuple[T, ...]:
        """Return at most `limit` of them, newest round first."""
        statement = select(self._table).order_by(self._id.desc()).limit(limit)
        if state is not None:
            statement = statement.where(self._table.c.state == state)
        return tuple(map(self._read, await self._all(statement)))

    async def counts(self) -> Mapping[str, int]:
        """Return how many there are in each state that any is in, by the state's name."""
        state = self._table.c.state
        found = await self._all(select(state, func.count().label("many")).group_by(state).order_by(state))
        return {row.state: row.many for row in found}

    async def oldest(self) -> datetime | None:
        """Return when the oldest that is pending or running was queued; None without any."""
        c = self._table.c
        found: datetime | None = await self._scalar(select(func.min(c.queued_at)).where(c.state.in_(_UNENDED)))
        return found

    async def unended(self) -> int:
        """Return how many are pending or running."""
        return int(await self._scalar(select(func.count()).where(self._table.c.state.in_(_UNENDED))))

    async def _where(self, mine: ColumnElement[bool]) -> tuple[T, ...]:
        return tuple(map(self._read, await self._all(select(self._table).where(mine).order_by(self._id))))

    @property
    def _id(self) -> Column[Any]:
        (column,) = self._table.primary_key
        return column

    async def _end(self, taken: T, values: Mapping[str, Any]) -> bool:
        """End a try; False, and nothing is changed, if it is no longer the running one."""
        return bool(await self._changed(update(self._table).where(self._is_running(taken)).values(**values)))

    def _is_running(self, taken: T) -> ColumnElement[bool]:
        c = self._table.c
        # A reopened one counts from the beginning: the number of a try alone could be another's.
        same = and_(c.attempts == taken.attempts, c.started_at == taken.started_at)
        return and_(self._id == taken.work_id, c.state == "running", same)


@cache
def _of_round(table: Table, column: str) -> Select[Any]:
    (name,) = table.primary_key
    return select(table).where(table.c[column] == ROUND).order_by(name)
