"""Executions of tasks: pending -> running -> done | inconclusive, or pending again (SPEC 15).

Each ends once, and all results of one are counted together, once.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, func, select, update

from validator.protocol.canonical import canonical_bytes
from validator.protocol.execution import AnswerResult, RunReport
from validator.protocol.reasons import Reason
from validator.protocol.round import ExecutionResult
from validator.protocol.skill_types import SkillType
from validator.protocol.work_states import WorkState
from validator.scoring import StruckEntry
from validator.store.errors import MismatchError
from validator.store.execution import Execution, QueuedExecution
from validator.store.records import Upcoming
from validator.store.repositories.waiting import WaitingWork
from validator.store.tables import execution_results, executions, window_entries

e, r, w = executions.c, execution_results.c, window_entries.c


class Executions(WaitingWork[Execution]):
    """Executions by id; ids sort as rounds and tasks."""

    _table = executions

    async def queue(self, queued: Sequence[QueuedExecution], at: datetime) -> None:
        """Insert what a round that is being settled wants to have executed; it is due at once."""
        fresh = {"state": "pending", "attempts": 0, "queued_at": at, "due_at": at}
        await self._insert(executions, [one._asdict() | fresh for one in queued])

    async def expire(self, round_id: int, at: datetime) -> None:
        """End what waits of rounds before one that is being settled."""
        waiting = and_(e.state == "pending", e.round_id < round_id)
        values = {"state": "inconclusive", "reason": Reason.EXECUTION_LATE, "ended_at": at}
        await self._changed(update(executions).where(waiting).values(values))

    async def take(self, now: datetime) -> Execution | None:
        """Begin a try of the next one that is due: rounds in their order, the tasks of each in that of the draws."""
        due = select(e.execution_id).where(e.state == "pending", e.due_at <= now)
        found = await self._scalar(due.order_by(e.round_id, e.place).limit(1))
        if found is None:
            return None
        begun = {"state": "running", "attempts": e.attempts + 1, "started_at": now}
        mine = and_(e.execution_id == found, e.state == "pending")
        await self._changed(update(executions).where(mine).values(begun))
        return await self.get(found)

    async def upcoming(self, now: datetime, limit: int) -> tuple[Upcoming, ...]:
        """Return what is due, at most `limit`, in the order of `take`."""
        due = select(e.execution_id, e.attempts).where(e.state == "pending", e.due_at <= now)
        found = await self._all(due.order_by(e.round_id, e.place).limit(limit))
        return tuple(Upcoming(row.execution_id, row.attempts + 1, turn) for turn, row in enumerate(found))

    async def done(
        self, taken: Execution, report: RunReport, results: Sequence[AnswerResult], at: datetime, detail: str = ""
    ) -> bool:
        """End the try with its results; False, and nothing is changed, if it is no longer the running one."""
        values = {"state": "done", "reason": Reason.EXECUTION_COMPARED, "report": report, "ended_at": at}
        if not await self._end(taken, {**values, "detail": detail or None}):
            return False
        await self._insert(
            execution_results,
            [
                {
                    "execution_id": taken.execution_id,
                    "rank": rank,
                    "round_id": taken.round_id,
                    "task_id": taken.task_id,
                    "skill_type": taken.skill_type,
                    **one._asdict(),
                }
                for rank, one in enumerate(results)
            ],
        )
        return True

    async def inconclusive(
        self, taken: Execution, reason: Reason, report: RunReport, at: datetime, detail: str = ""
    ) -> bool:
        """End the try without results; False, and nothing is changed, if it is no longer the running one."""
        values = {"state": "inconclusive", "reason": reason, "report": report, "ended_at": at}
        return await self._end(taken, {**values, "detail": detail or None})

    async def results(self) -> tuple[ExecutionResult, ...]:
        """Return the results that no settled round has counted yet, all of a task's together, in their order."""
        mine = select(execution_results).join(executions, e.execution_id == r.execution_id)
        found = await self._all(mine.where(e.entered_in.is_(None)).order_by(r.execution_id, r.rank))
        return tuple(
            ExecutionResult(str(row.round_id), row.task_id, row.hotkey, SkillType(row.skill_type), row.event)
            for row in found
        )

    async def enter(self, round_id: int, entered: Sequence[ExecutionResult], struck: Sequence[StruckEntry]) -> None:
        """Note that a round that is being settled counts these results, and take the window entries that it strikes.

        Raises:
            MismatchError: a task does not wait to be counted; two rounds would count it.
        """
        for of_round, task_id in dict.fromkeys((int(one.round_id), one.task_id) for one in entered):
            waits = and_(e.round_id == of_round, e.task_id == task_id, e.state == "done", e.entered_in.is_(None))
            if not await self._changed(update(executions).where(waits).values(entered_in=round_id)):
                raise MismatchError(f"the execution of task {task_id} does not wait to be counted")
        for entry in struck:
            number = int(entry.round_id)
            its = and_(
                w.hotkey == entry.hotkey,
                w.skill_type == entry.skill_type,
                w.round_id == number,
                w.task_id == entry.task_id,
            )
            value = await self._scalar(select(w.value).where(its))
            mine = and_(r.round_id == number, r.task_id == entry.task_id, r.hotkey == entry.hotkey)
            worth = 0.0 if value is None else value
            await self._changed(update(execution_results).where(mine).values(struck=worth))
            await self._changed(update(window_entries).where(its).values(value=0.0))

    async def get(self, work_id: str) -> Execution | None:
        """Return one of them with its results."""
        found = await self._filled(e.execution_id == work_id)
        return found[0] if found else None

    async def of_round(self, round_id: int) -> tuple[Execution, ...]:
        """Return those of a round's tasks, in plan order."""
        return await self._filled(e.round_id == round_id)

    async def entered_in(self, round_id: int) -> tuple[Execution, ...]:
        """Return those whose results the round counted, by id."""
        return await self._filled(e.entered_in == round_id)

    async def reports(self, results: Sequence[ExecutionResult]) -> tuple[bytes, ...]:
        """Return what the executions of these results showed, as canonical bytes, by id."""
        ids = {(int(one.round_id), one.task_id) for one in results}
        found = await self._filled(e.round_id.in_({round_id for round_id, _ in ids})) if ids else ()
        return tuple(
            canonical_bytes(
                {
                    "execution_id": one.execution_id,
                    "report": one.report,
                    "results": [{"hotkey": r.hotkey, "event": r.event, "report": r.report} for r in one.results],
                }
            )
            for one in found
            if (one.round_id, one.task_id) in ids
        )

    async def struck(self, since: int) -> Counter[tuple[str, str]]:
        """Return how many answers of rounds from `since` on a settled round struck: failed dispatches (D-30)."""
        its = select(r.hotkey, r.skill_type).where(r.struck.is_not(None), r.round_id >= since)
        return Counter((row.hotkey, row.skill_type) for row in await self._all(its))

    async def fails(self, since: int, most: int) -> Mapping[tuple[str, str], int]:
        """Return (hotkey, skill_type) -> fails among the newest `most` results that rounds from `since` on counted."""
        its = select(r.hotkey, r.skill_type, r.event).join(executions, e.execution_id == r.execution_id)
        newest: dict[tuple[str, str], list[bool]] = defaultdict(list)
        rows = its.where(e.entered_in >= since).order_by(e.entered_in.desc(), r.execution_id.desc())
        for row in await self._all(rows):
            events = newest[row.hotkey, row.skill_type]
            if len(events) < most:
                events.append(row.event == "rerun_fail")
        return {pair: sum(events) for pair, events in newest.items()}

    async def late_share(self, since: datetime) -> tuple[int, int]:
        """Return how many that ended since then had not begun in time, and how many ended.

        (0, 0) where none was queued before then: so little says nothing of a day.
        """
        if await self._scalar(select(e.execution_id).where(e.queued_at <= since).limit(1)) is None:
            return 0, 0
        ended = select(e.reason, func.count().label("many")).where(e.ended_at > since).group_by(e.reason)
        found = {row.reason: row.many for row in await self._all(ended)}
        return found.get(Reason.EXECUTION_LATE, 0), sum(found.values())

    async def listing(self, limit: int, state: WorkState | None = None) -> tuple[Execution, ...]:
        """Return at most `limit` of them with their results, newest round first."""
        ids = [one.execution_id for one in await super().listing(limit, state)]
        return (await self._filled(e.execution_id.in_(ids)))[::-1]

    async def _filled(self, mine: ColumnElement[bool]) -> tuple[Execution, ...]:
        found = {one.execution_id: one for one in await self._where(mine)}
        rows = select(execution_results).where(r.execution_id.in_(found)).order_by(r.execution_id, r.rank)
        results: dict[str, list[AnswerResult]] = defaultdict(list)
        for row in await self._all(rows) if found else ():
            results[row.execution_id].append(AnswerResult(row.hotkey, row.event, row.report, row.struck))
        return tuple(replace(one, results=tuple(results[execution_id])) for execution_id, one in found.items())

    def _read(self, row: Row[Any]) -> Execution:
        return Execution(
            execution_id=row.execution_id,
            round_id=row.round_id,
            task_id=row.task_id,
            skill_type=SkillType(row.skill_type),
            place=row.place,
            hotkeys=row.hotkeys,
            state=row.state,
            attempts=row.attempts,
            queued_at=row.queued_at,
            due_at=row.due_at,
            started_at=row.started_at,
            ended_at=row.ended_at,
            reason=row.reason,
            detail=row.detail,
            report=row.report,
            entered_in=row.entered_in,
        )
