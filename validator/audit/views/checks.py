"""Code of plans that is judged after its round (SPEC 12)."""

from collections.abc import Mapping
from datetime import datetime

from validator.protocol.code_report import CodeReport
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.sssa import Document
from validator.protocol.work_states import WorkState
from validator.store import Transaction
from validator.store.waiting import CodeCheck


class CheckView(Document, frozen=True):
    """A check.

    Attributes:
        state: pending, running, done or inconclusive.
        attempts: tries that were begun.
        due_at: not tried before.
        reason: of the end, or of the last try; `meaning` that in words.
        report: what the task's tests and the linter found; None where there is none.
        score: S with it, what enters the window.
        entered_in: the round with which it entered the window; None until one has.
    """

    check_id: str
    round_id: int
    task_id: str
    hotkey: str
    state: WorkState
    attempts: int
    queued_at: datetime
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    reason: Reason | None
    meaning: str | None
    detail: str | None
    report: CodeReport | None
    score: float | None
    entered_in: int | None


class CheckList(Document, frozen=True):
    """Checks, newest round first, and how many there are in each state."""

    counts: Mapping[str, int]
    checks: tuple[CheckView, ...]


async def check_list(tx: Transaction, limit: int, state: WorkState | None = None) -> CheckList:
    """Return at most `limit` checks, those in `state` alone where one is given."""
    found = await tx.code_checks.listing(limit, state)
    return CheckList(dict(await tx.code_checks.counts()), tuple(map(_view, found)))


async def check_of(tx: Transaction, check_id: str) -> CheckView | None:
    """Return one check, None if there is none of this id."""
    found = await tx.code_checks.get(check_id) if "\0" not in check_id else None
    return None if found is None else _view(found)


def _view(check: CodeCheck) -> CheckView:
    return CheckView(
        check_id=check.work_id,
        round_id=check.round_id,
        task_id=check.task_id,
        hotkey=check.hotkey,
        state=check.state,
        attempts=check.attempts,
        queued_at=check.queued_at,
        due_at=check.due_at,
        started_at=check.started_at,
        ended_at=check.ended_at,
        reason=check.reason,
        meaning=meaning_of(check.reason),
        detail=check.detail,
        report=check.report,
        score=check.score,
        entered_in=check.entered_in,
    )
