"""Reruns: pending -> running -> done | inconclusive, or pending again. Each ends once and is counted once (SPEC 15)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, select, update

from validator.protocol.reasons import Reason
from validator.protocol.rerun import RerunEvent, RerunReport
from validator.protocol.round import RerunResult
from validator.protocol.skill_types import SkillType
from validator.scoring import StruckEntry
from validator.store.dispatch import DispatchKey
from validator.store.errors import MismatchError
from validator.store.repositories.waiting import WaitingWork
from validator.store.rerun import QueuedRerun, Rerun
from validator.store.tables import reruns, window_entries

r = reruns.c


class Reruns(WaitingWork[Rerun]):
    """Reruns by id; ids sort as rounds, tasks and members."""

    _table = reruns

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
        return await self._end(rerun, {**values, "detail": detail or None})

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

    def _read(self, row: Row[Any]) -> Rerun:
        return _rerun(row)


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
