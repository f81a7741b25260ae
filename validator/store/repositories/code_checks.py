"""Code that waits to be judged: pending -> running -> done | inconclusive. Each fills a window once (SPEC 12)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, select, update

from validator.protocol.code_report import CodeReport
from validator.protocol.reasons import Reason
from validator.protocol.round import FilledQuality
from validator.store.code_check import CodeCheck, QueuedCheck
from validator.store.dispatch import DispatchKey
from validator.store.errors import MismatchError
from validator.store.repositories.waiting import WaitingWork
from validator.store.tables import code_checks

c = code_checks.c


class CodeChecks(WaitingWork[CodeCheck]):
    """Checks by id; ids sort as rounds, tasks and members. A row is smaller than the dispatch that it belongs to."""

    _table = code_checks

    async def queue(self, queued: Sequence[QueuedCheck], at: datetime) -> None:
        """Insert what a round that is being settled could not judge; it is due at once."""
        await self._insert(
            code_checks,
            [
                {
                    "check_id": one.check_id,
                    **one.key._asdict(),
                    "state": "pending",
                    "attempts": 0,
                    "queued_at": at,
                    "due_at": at,
                }
                for one in queued
            ],
        )

    async def done(self, check: CodeCheck, report: CodeReport, score: float, at: datetime, detail: str = "") -> bool:
        """End the try with its report; False, and nothing is changed, if it is no longer the running one."""
        values = {"state": "done", "reason": Reason.QUALITY_JUDGED, "report": report, "score": score, "ended_at": at}
        return await self._end(check, {**values, "detail": detail or None})

    async def results(self, most: int) -> tuple[FilledQuality, ...]:
        """Return the oldest `most` results that no settled round has entered yet, by check id."""
        waiting = select(code_checks).where(c.report.is_not(None), c.entered_in.is_(None))
        found = await self._all(waiting.order_by(c.check_id).limit(most))
        return tuple(
            FilledQuality(row.check_id, str(row.round_id), row.task_id, row.hotkey, row.report, row.score)
            for row in found
        )

    async def enter(self, round_id: int, entered: Sequence[FilledQuality]) -> None:
        """Note that a round that is being settled enters these results.

        Raises:
            MismatchError: a result is not one that waits to be entered; two rounds would enter it.
        """
        for result in entered:
            waiting = and_(
                c.check_id == result.check_id,
                c.round_id == int(result.round_id),
                c.task_id == result.task_id,
                c.hotkey == result.hotkey,
                c.score == result.score,
                c.entered_in.is_(None),
            )
            if not await self._changed(update(code_checks).where(waiting).values(entered_in=round_id)):
                raise MismatchError(f"the code check {result.check_id} does not wait to be entered")

    async def entered_of(self, hotkey: str, round_ids: Collection[int]) -> Mapping[str, float]:
        """Return task id to score of the miner's answers in these rounds that have been entered since."""
        mine = and_(c.hotkey == hotkey, c.round_id.in_(round_ids), c.entered_in.is_not(None))
        return {row.task_id: row.score for row in await self._all(select(c.task_id, c.score).where(mine))}

    def _read(self, row: Row[Any]) -> CodeCheck:
        return CodeCheck(
            check_id=row.check_id,
            key=DispatchKey(row.round_id, row.task_id, row.hotkey),
            state=row.state,
            attempts=row.attempts,
            queued_at=row.queued_at,
            due_at=row.due_at,
            started_at=row.started_at,
            ended_at=row.ended_at,
            reason=row.reason,
            detail=row.detail,
            report=row.report,
            score=row.score,
            entered_in=row.entered_in,
        )
