"""Waiting work of both kinds in one table. A try is begun and ended by one worker alone, and a result counts once."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, Literal

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, or_, select, update

from sssa.protocol.dispatch_record import DispatchKey
from sssa.protocol.execution import WorkState
from sssa.protocol.reasons import Reason
from sssa.protocol.round import ExecutionResult, FilledQuality, RoundInput, RoundOutcome, RoundPlan
from sssa.protocol.skill_types import SkillType
from sssa.protocol.waiting_work import (
    CODE,
    EXECUTIONS,
    CodeCheck,
    Executed,
    Execution,
    Judged,
    QueuedWork,
    Upcoming,
    W,
    WorkKind,
)
from sssa.scoring import deferred_runs, executed_tasks
from validator.store.errors import MismatchError
from validator.store.repositories.repository import ROUND, Repository
from validator.store.tables import waiting_work

c = waiting_work.c
_ABOUT: Final = (
    select(waiting_work)
    .where(c.kind == bindparam("kind"), or_(c.round_id == ROUND, c.entered_in == ROUND))
    .order_by(c.work_id)
)
_UNENDED: Final = c.state.in_(("pending", "running"))


class WorkQueue(Repository, Generic[W]):
    """Work of one kind: pending -> running -> done or inconclusive, or pending again.

    A try that is no longer the running one changes nothing.
    """

    kind: ClassVar[WorkKind]
    record: type[W]

    @abstractmethod
    def _due(self, now: datetime) -> Select[Any]:
        """Return the query for what is due, in the order of its tries: work_id, attempts, turn."""

    async def queue(self, queued: Sequence[QueuedWork], at: datetime) -> None:
        """Insert what a round that is being settled leaves; it is due at once."""
        fresh = {"kind": self.kind, "state": "pending", "attempts": 0, "queued_at": at, "due_at": at}
        await self._insert(waiting_work, [one._asdict() | fresh for one in queued])

    async def upcoming(self, now: datetime, limit: int) -> tuple[Upcoming, ...]:
        """Return what is due, at most `limit`, in the order of the tries."""
        rows = await self._all(self._due(now).limit(limit))
        return tuple(Upcoming(row.work_id, row.attempts + 1, row.turn) for row in rows)

    async def take(self, now: datetime) -> W | None:
        """Begin a try of what is due and next; None if nothing is."""
        for one in await self.upcoming(now, 1):
            return await self.claim(one.work_id, one.attempt, now)
        return None

    async def claim(self, work_id: str, attempt: int, now: datetime) -> W | None:
        """Begin this try of this piece; None if it does not wait for that try."""
        mine = and_(self._is(work_id), c.state == "pending", c.attempts == attempt - 1)
        begun = {"state": "running", "attempts": attempt, "started_at": now}
        changed = await self._changed(update(waiting_work).where(mine).values(begun))
        return await self.get(work_id) if changed else None

    async def end(  # noqa: PLR0913, PLR0917 - the columns of an end
        self,
        taken: W,
        state: Literal["done", "inconclusive"],
        reason: Reason,
        at: datetime,
        detail: str = "",
        result: Executed | Judged | None = None,
    ) -> bool:
        """End a try, and the work; False if it is no longer the running one."""
        values = {"state": state, "reason": reason, "ended_at": at, "detail": detail or None, "result": result}
        return await self._end_try(taken, values)

    async def postpone(self, taken: W, reason: Reason, due_at: datetime, detail: str = "") -> bool:
        """Put a try back until `due_at`; False if it is no longer the running one."""
        values = {"state": "pending", "reason": reason, "due_at": due_at, "detail": detail or None}
        return await self._end_try(taken, values)

    async def hand_back(self, taken: W, at: datetime) -> bool:
        """Put a try back as if it had not begun; False if it is no longer the running one."""
        return await self._end_try(taken, {"state": "pending", "attempts": taken.attempts - 1, "due_at": at})

    async def retry(self, work_id: str, at: datetime) -> bool:
        """Make a pending piece due, or let an inconclusive one begin anew; False if it is neither."""
        inconclusive = c.state == "inconclusive"
        mine = and_(self._is(work_id), c.state.in_(("pending", "inconclusive")))
        values = {
            "state": "pending",
            "attempts": case((inconclusive, 0), else_=c.attempts),
            "due_at": at,
            "ended_at": None,
            "result": None,
        }
        return bool(await self._changed(update(waiting_work).where(mine).values(values)))

    async def next_due(self) -> datetime | None:
        """Return when the next pending piece is due; None where none is pending."""
        pending = select(func.min(c.due_at)).where(c.kind == self.kind, c.state == "pending")
        due_at: datetime | None = await self._scalar(pending)
        return due_at

    async def running(self) -> tuple[W, ...]:
        """Return what is running: at a start, what a crash left."""
        return await self._where(c.state == "running")

    async def get(self, work_id: str) -> W | None:
        """Return one piece."""
        pieces = await self._where(c.work_id == work_id)
        return pieces[0] if pieces else None

    async def of_round(self, round_id: int) -> tuple[W, ...]:
        """Return what belongs to a round's answers, by id."""
        return await self._where(c.round_id == round_id)

    async def about(self, round_id: int) -> tuple[tuple[W, ...], tuple[W, ...]]:
        """Return what belongs to a round's answers, and the pieces whose results its input has, by id."""
        pieces = await self._each(self.record, _ABOUT, {"kind": self.kind, "round_id": round_id})
        return (
            tuple(one for one in pieces if one.round_id == round_id),
            tuple(one for one in pieces if one.entered_in == round_id),
        )

    async def listing(self, limit: int, state: WorkState | None = None) -> tuple[W, ...]:
        """Return at most `limit` pieces, newest round first."""
        mine = select(waiting_work).where(c.kind == self.kind)
        mine = mine if state is None else mine.where(c.state == state)
        return await self._each(self.record, mine.order_by(c.work_id.desc()).limit(limit))

    async def counts(self) -> Mapping[str, int]:
        """Return how many pieces are in each state that any is in, by the state's name."""
        states = select(c.state, func.count().label("many")).where(c.kind == self.kind).group_by(c.state)
        return {row.state: row.many for row in await self._all(states.order_by(c.state))}

    async def oldest(self) -> datetime | None:
        """Return when the oldest piece that is pending or running was queued; None without any."""
        queued_at: datetime | None = await self._scalar(
            select(func.min(c.queued_at)).where(c.kind == self.kind, _UNENDED)
        )
        return queued_at

    async def unended(self) -> int:
        """Return how many pieces are pending or running."""
        return int(await self._scalar(select(func.count()).where(c.kind == self.kind, _UNENDED)))

    async def _where(self, mine: ColumnElement[bool]) -> tuple[W, ...]:
        statement = select(waiting_work).where(c.kind == self.kind, mine).order_by(c.work_id)
        return await self._each(self.record, statement)

    async def _enter(self, round_id: int, mine: ColumnElement[bool], name: str) -> None:
        """Note that a round that is being settled has the result of this piece (MismatchError)."""
        waits = and_(c.kind == self.kind, c.state == "done", c.entered_in.is_(None), mine)
        if not await self._changed(update(waiting_work).where(waits).values(entered_in=round_id)):
            raise MismatchError(f"{name} does not wait to be counted")

    async def _end_try(self, taken: W, values: Mapping[str, Any]) -> bool:
        # A piece that begins anew counts its tries from 1 again: the number of a try alone could be another's.
        same = and_(c.attempts == taken.attempts, c.started_at == taken.started_at)
        mine = and_(self._is(taken.work_id), c.state == "running", same)
        return bool(await self._changed(update(waiting_work).where(mine).values(**values)))

    def _is(self, work_id: str) -> ColumnElement[bool]:
        return and_(c.kind == self.kind, c.work_id == work_id)


class Executions(WorkQueue[Execution]):
    """Executions of tasks, rounds in their order and the tasks of each in that of the draws (SPEC 15)."""

    kind = EXECUTIONS
    record = Execution

    def _due(self, now: datetime) -> Select[Any]:
        turn = func.row_number().over(order_by=(c.round_id, c.place)) - 1
        due = select(c.work_id, c.attempts, turn.label("turn"))
        return due.where(c.kind == self.kind, c.state == "pending", c.due_at <= now).order_by(c.round_id, c.place)

    async def expire(self, round_id: int, at: datetime) -> None:
        """End what waits of rounds before one that is being settled."""
        waits = and_(c.kind == self.kind, c.state == "pending", c.round_id < round_id)
        values = {"state": "inconclusive", "reason": Reason.EXECUTION_LATE, "ended_at": at}
        await self._changed(update(waiting_work).where(waits).values(values))

    async def results(self) -> tuple[ExecutionResult, ...]:
        """Return the results that no settled round has counted yet, all of a task's together, in their order."""
        waits = await self._where(and_(c.state == "done", c.entered_in.is_(None)))
        return tuple(result for one in waits for result in one.counted)

    async def enter(
        self, round_id: int, entered: Sequence[ExecutionResult], struck: Mapping[DispatchKey, float]
    ) -> None:
        """Note that a round that is being settled counts these results.

        `struck` has the worth of the entries that it strikes.
        """
        for of_round, task_id in dict.fromkeys((int(one.round_id), one.task_id) for one in entered):
            mine = and_(c.round_id == of_round, c.task_id == task_id)
            await self._enter(round_id, mine, f"the execution of task {task_id}")
        for key, worth in struck.items():
            await self._strike(key, worth)

    async def _strike(self, key: DispatchKey, worth: float) -> None:
        """Note what a window entry was worth before the execution took it."""
        for one in await self._where(and_(c.round_id == key.round_id, c.task_id == key.task_id)):
            results = tuple(
                result._replace(struck=worth) if result.hotkey == key.hotkey else result for result in one.results
            )
            if isinstance(one.result, Executed):
                struck_result = Executed(one.result.report, results)
                await self._changed(update(waiting_work).where(self._is(one.work_id)).values(result=struck_result))

    async def reports(self, results: Sequence[ExecutionResult]) -> tuple[bytes, ...]:
        """Return what the executions of these results showed, as canonical bytes, by id."""
        ids = {(int(one.round_id), one.task_id) for one in results}
        executions = await self._where(c.round_id.in_({round_id for round_id, _ in ids})) if ids else ()
        return tuple(one.written for one in executions if (one.round_id, one.task_id) in ids)

    async def late_share(self, since: datetime) -> tuple[int, int]:
        """Return how many that ended since then had not begun in time, and how many ended.

        (0, 0) where none was queued before then: so little says nothing of a day.
        """
        before = select(c.work_id).where(c.kind == self.kind, c.queued_at <= since).limit(1)
        if await self._scalar(before) is None:
            return 0, 0
        ended = select(c.reason, func.count().label("many")).where(c.kind == self.kind, c.ended_at > since)
        counts = {row.reason: row.many for row in await self._all(ended.group_by(c.reason))}
        return counts.get(Reason.EXECUTION_LATE, 0), sum(counts.values())


class CodeChecks(WorkQueue[CodeCheck]):
    """Checks of plans' code, fair between miners (SPEC 12)."""

    kind = CODE
    record = CodeCheck

    def _due(self, now: datetime) -> Select[Any]:
        """Order the first piece of every miner before every second; the miner tried longest ago comes first.

        What a miner has running counts as those before its first.
        """
        theirs = waiting_work.alias("theirs")
        of_miner = and_(theirs.c.kind == self.kind, theirs.c.hotkeys == c.hotkeys)
        running = select(func.count()).where(of_miner, theirs.c.state == "running").correlate(waiting_work)
        last = select(func.max(theirs.c.started_at)).where(of_miner).correlate(waiting_work)
        place = func.row_number().over(partition_by=c.hotkeys, order_by=c.work_id) - 1
        turn = (place + running.scalar_subquery()).label("turn")
        due = select(c.work_id, c.attempts, turn)
        due = due.where(c.kind == self.kind, c.state == "pending", c.due_at <= now)
        return due.order_by(turn, last.scalar_subquery().asc().nulls_first(), c.work_id)

    async def results(self, most: int) -> tuple[FilledQuality, ...]:
        """Return the oldest `most` results that no settled round has entered yet, by id."""
        waits = select(waiting_work).where(c.kind == self.kind, c.state == "done", c.entered_in.is_(None))
        checks = await self._each(self.record, waits.order_by(c.work_id).limit(most))
        return tuple(one.filled for one in checks if one.filled is not None)

    async def enter(self, round_id: int, entered: Sequence[FilledQuality]) -> None:
        """Note that a round that is being settled enters these results."""
        for result in entered:
            mine = and_(
                c.work_id == result.check_id,
                c.round_id == int(result.round_id),
                c.task_id == result.task_id,
                c.hotkeys == (result.hotkey,),
                c.result == Judged(result.report, result.score),
            )
            await self._enter(round_id, mine, f"the code check {result.check_id}")

    async def entered_of(self, hotkey: str, round_ids: Collection[int]) -> Mapping[str, float]:
        """Return task id to score of the miner's answers in these rounds that have been entered since."""
        mine = and_(c.hotkeys == (hotkey,), c.round_id.in_(round_ids), c.entered_in.is_not(None))
        return {one.task_id: one.score for one in await self._where(mine) if one.score is not None}


def queued_executions(frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[QueuedWork, ...]:
    """Return what a settled round wants to have executed, for settling and for replay alike."""
    return tuple(
        QueuedWork(
            f"{frozen.index:016d}-{one.position:03d}", frozen.index, one.task_id, one.skill_type, place, one.primaries
        )
        for place, one in enumerate(executed_tasks(frozen, plan, outcome))
    )


def queued_checks(frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[QueuedWork, ...]:
    """Return what a settled round leaves to be judged, for settling and for replay alike."""
    return tuple(
        QueuedWork(one.check_id, frozen.index, one.task_id, SkillType.WORKFLOW, 0, (one.hotkey,))
        for one in deferred_runs(frozen, plan, outcome)
    )
