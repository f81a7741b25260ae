"""Reruns: pending -> running -> done | inconclusive, or pending again. Each ends once and is counted once (SPEC 15)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, func, select, update

from validator.protocol.reasons import Reason
from validator.protocol.rerun import RerunEvent, RerunReport
from validator.protocol.round import RerunResult
from validator.protocol.skill_types import SkillType
from validator.scoring import StruckEntry
from validator.store.dispatch import DispatchKey
from validator.store.errors import MismatchError
from validator.store.repositories.base import Repository
from validator.store.rerun import QueuedRerun, Rerun, RerunState
from validator.store.tables import reruns, window_entries

_UNENDED: Final = ("pending", "running")
r = reruns.c


class Reruns(Repository):
    """Reruns by id; ids sort as rounds, tasks and members."""

    async def queue(self, queued: Sequence[QueuedRerun], at: datetime) -> None:
        """Insert what a round that is being settled wants to have run again; it is due at once."""
        await self._insert(
            reruns,
            [
                {
                    "rerun_id": one.rerun_id,
                    **one.key._asdict(),
                    "skill_type": one.skill_type,
                    "why": one.why,
                    "image": one.image,
                    "state": "pending",
                    "attempts": 0,
                    "queued_at": at,
                    "due_at": at,
                }
                for one in queued
            ],
        )

    async def take(self, now: datetime) -> Rerun | None:
        """Begin a try of the next rerun that is due; None if there is none.

        Fair between miners: next is one of whoever has the fewest running, then of whoever's last try began longest
        ago, then the oldest.
        """
        theirs = reruns.alias("theirs")
        running = select(func.count()).where(theirs.c.hotkey == r.hotkey, theirs.c.state == "running")
        last = select(func.max(theirs.c.started_at)).where(theirs.c.hotkey == r.hotkey)
        due = (
            select(r.rerun_id)
            .where(r.state == "pending", r.due_at <= now)
            .order_by(
                running.correlate(reruns).scalar_subquery(),
                last.correlate(reruns).scalar_subquery().asc().nulls_first(),
                r.rerun_id,
            )
            .limit(1)
        )
        rerun_id = await self._scalar(due)
        if rerun_id is None:
            return None
        begun = {"state": "running", "attempts": r.attempts + 1, "started_at": now}
        await self._changed(update(reruns).where(r.rerun_id == rerun_id, r.state == "pending").values(begun))
        return await self.get(rerun_id)

    async def next_due(self) -> datetime | None:
        """Return when the next pending rerun is due; None where none is pending."""
        found: datetime | None = await self._scalar(select(func.min(r.due_at)).where(r.state == "pending"))
        return found

    async def done(  # noqa: PLR0913, PLR0917 - what a rerun comes to
        self,
        rerun: Rerun,
        event: RerunEvent,
        reason: Reason,
        report: RerunReport | None,
        at: datetime,
        detail: str = "",
    ) -> bool:
        """End the try with its event; False, and nothing is changed, if it is no longer the running one."""
        values = {"state": "done", "event": event, "reason": reason, "report": report, "ended_at": at}
        return await self._end_try(rerun, {**values, "detail": detail or None})

    async def again(self, rerun: Rerun, reason: Reason, due_at: datetime, detail: str = "") -> bool:
        """Put a try back that told nothing of the miner; False if it is no longer the running one."""
        return await self._end_try(
            rerun, {"state": "pending", "reason": reason, "due_at": due_at, "detail": detail or None}
        )

    async def give_up(self, rerun: Rerun, reason: Reason, at: datetime, detail: str = "") -> bool:
        """End the try, and the rerun without an event; False if it is no longer the running one."""
        values = {"state": "inconclusive", "reason": reason, "ended_at": at, "detail": detail or None}
        return await self._end_try(rerun, values)

    async def running(self) -> tuple[Rerun, ...]:
        """Return those that are running: at a start, what a crash left."""
        found = await self._all(select(reruns).where(r.state == "running").order_by(r.rerun_id))
        return tuple(_rerun(row) for row in found)

    async def reopen(self, rerun_id: str, at: datetime) -> bool:
        """Let an inconclusive rerun be tried again from the beginning; False if it is not inconclusive."""
        values = {"state": "pending", "attempts": 0, "due_at": at, "ended_at": None}
        return bool(
            await self._changed(update(reruns).where(r.rerun_id == rerun_id, r.state == "inconclusive").values(values))
        )

    async def hasten(self, rerun_id: str, at: datetime) -> bool:
        """Make a pending rerun due at once; False if it is not pending."""
        statement = update(reruns).where(r.rerun_id == rerun_id, r.state == "pending").values(due_at=at)
        return bool(await self._changed(statement))

    async def results(self) -> tuple[RerunResult, ...]:
        """Return the results that no settled round has counted yet, by rerun id."""
        found = await self._all(select(reruns).where(r.event.is_not(None), r.entered_in.is_(None)).order_by(r.rerun_id))
        return tuple(
            RerunResult(row.rerun_id, row.hotkey, SkillType(row.skill_type), row.event, str(row.round_id), row.task_id)
            for row in found
        )

    async def enter(self, round_id: int, entered: Sequence[RerunResult], struck: Sequence[StruckEntry]) -> None:
        """Note that a round that is being settled counts these results, and take the window entries that it strikes.

        Raises:
            MismatchError: a result is not one that waits to be counted; two rounds would count it.
        """
        for result in entered:
            waiting = and_(r.rerun_id == result.rerun_id, r.event == result.event, r.entered_in.is_(None))
            if not await self._changed(update(reruns).where(waiting).values(entered_in=round_id)):
                raise MismatchError(f"the rerun {result.rerun_id} does not wait to be counted")
        for entry in struck:
            w = window_entries.c
            mine = and_(
                w.hotkey == entry.hotkey,
                w.skill_type == entry.skill_type,
                w.round_id == int(entry.round_id),
                w.task_id == entry.task_id,
            )
            value = await self._scalar(select(w.value).where(mine))
            key = DispatchKey(int(entry.round_id), entry.task_id, entry.hotkey)
            await self._changed(update(reruns).where(_at(key)).values(struck=0.0 if value is None else value))
            await self._changed(update(window_entries).where(mine).values(value=0.0))

    async def get(self, rerun_id: str) -> Rerun | None:
        """Return one rerun."""
        row = await self._first(select(reruns).where(r.rerun_id == rerun_id))
        return None if row is None else _rerun(row)

    async def of_round(self, round_id: int) -> tuple[Rerun, ...]:
        """Return what is run again of a round's answers, by id."""
        found = await self._all(select(reruns).where(r.round_id == round_id).order_by(r.rerun_id))
        return tuple(_rerun(row) for row in found)

    async def entered_in(self, round_id: int) -> tuple[Rerun, ...]:
        """Return those whose results the round counted, by id."""
        found = await self._all(select(reruns).where(r.entered_in == round_id).order_by(r.rerun_id))
        return tuple(_rerun(row) for row in found)

    async def listing(self, limit: int, state: RerunState | None = None) -> tuple[Rerun, ...]:
        """Return at most `limit` reruns, newest round first."""
        statement = select(reruns).order_by(r.rerun_id.desc()).limit(limit)
        if state is not None:
            statement = statement.where(r.state == state)
        return tuple(_rerun(row) for row in await self._all(statement))

    async def counts(self) -> Mapping[RerunState, int]:
        """Return how many there are in each state that any is in."""
        found = await self._all(select(r.state, func.count().label("many")).group_by(r.state))
        return {row.state: row.many for row in found}

    async def unended(self) -> int:
        """Return how many are pending or running."""
        return int(await self._scalar(select(func.count()).where(r.state.in_(_UNENDED))))

    async def _end_try(self, rerun: Rerun, values: Mapping[str, Any]) -> bool:
        mine = and_(r.rerun_id == rerun.rerun_id, r.state == "running", r.attempts == rerun.attempts)
        return bool(await self._changed(update(reruns).where(mine).values(**values)))


def _at(key: DispatchKey) -> ColumnElement[bool]:
    return and_(r.round_id == key.round_id, r.task_id == key.task_id, r.hotkey == key.hotkey)


def _rerun(row: Row[Any]) -> Rerun:
    return Rerun(
        rerun_id=row.rerun_id,
        key=DispatchKey(row.round_id, row.task_id, row.hotkey),
        skill_type=SkillType(row.skill_type),
        why=row.why,
        image=row.image,
        state=row.state,
        attempts=row.attempts,
        queued_at=row.queued_at,
        due_at=row.due_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        reason=row.reason,
        detail=row.detail,
        event=row.event,
        report=row.report,
        entered_in=row.entered_in,
        struck=row.struck,
    )
