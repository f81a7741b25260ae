"""Waiting work as shown: executions, the runs next to what each miner claims (SPEC 15), and code checks (SPEC 12)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from validator.protocol.execution import AnswerReport, ExecutionEvent, RunReport, WorkState
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.workflow_run import CodeReport
from validator.store import Transaction
from validator.store.waiting_work import CodeCheck, Execution, WaitingWork


class ResultView(Document, frozen=True):
    """The result of one valid primary.

    Attributes:
        event: what it does to the reputation.
        report: its traces next to the runs.
        struck: what the window entry was worth before it became 0; None where it was left alone.
    """

    hotkey: str
    event: ExecutionEvent
    report: AnswerReport
    struck: float | None


class ExecutionView(Document, frozen=True):
    """The execution of a task.

    Attributes:
        hotkeys: the valid primaries, in group order.
        state: pending, running, done or inconclusive.
        attempts: tries that were begun.
        due_at: not tried before.
        reason: of the end, or of the last try; `meaning` that in words.
        report: what the runs showed; None where they were not compared.
        results: in group order; none while there are none, and where it is inconclusive.
        counted_in: the round that counted the results; None until one has.
    """

    execution_id: str
    round_id: int
    task_id: str
    skill_type: SkillType
    hotkeys: tuple[str, ...]
    state: WorkState
    attempts: int
    queued_at: datetime
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    reason: Reason | None
    meaning: str | None
    detail: str | None
    report: RunReport | None
    results: tuple[ResultView, ...]
    counted_in: int | None


class ExecutionList(Document, frozen=True):
    """Executions, newest round first, and how many there are in each state."""

    counts: Mapping[str, int]
    executions: tuple[ExecutionView, ...]


class CheckView(Document, frozen=True):
    """A code check.

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
    """Code checks, newest round first, and how many there are in each state."""

    counts: Mapping[str, int]
    checks: tuple[CheckView, ...]


async def execution_list(tx: Transaction, limit: int, state: WorkState | None = None) -> ExecutionList:
    """Return at most `limit` executions, those in `state` alone where one is given."""
    found = await tx.executions.listing(limit, state)
    return ExecutionList(dict(await tx.executions.counts()), tuple(map(execution_view, found)))


async def execution_of(tx: Transaction, execution_id: str) -> ExecutionView | None:
    """Return one execution, None if there is none of this id."""
    found = await tx.executions.get(execution_id) if "\0" not in execution_id else None
    return None if found is None else execution_view(found)


async def executions_of_miner(tx: Transaction, round_id: int, hotkey: str) -> tuple[ExecutionView, ...]:
    """Return the executions of a round's tasks in which a miner is a valid primary, with its result alone."""
    return tuple(execution_view(one, hotkey) for one in await tx.executions.of_round(round_id) if hotkey in one.hotkeys)


def execution_view(execution: Execution, hotkey: str | None = None) -> ExecutionView:
    """Return one execution as shown, with all results or with those of one miner alone."""
    return ExecutionView(
        execution_id=execution.work_id,
        skill_type=execution.skill_type,
        hotkeys=execution.hotkeys,
        report=execution.report,
        results=tuple(
            ResultView(one.hotkey, one.event, one.report, one.struck)
            for one in execution.results
            if hotkey in {None, one.hotkey}
        ),
        counted_in=execution.entered_in,
        **_tries(execution),
    )


async def check_list(tx: Transaction, limit: int, state: WorkState | None = None) -> CheckList:
    """Return at most `limit` code checks, those in `state` alone where one is given."""
    found = await tx.code_checks.listing(limit, state)
    return CheckList(dict(await tx.code_checks.counts()), tuple(map(_check_view, found)))


async def check_of(tx: Transaction, check_id: str) -> CheckView | None:
    """Return one code check, None if there is none of this id."""
    found = await tx.code_checks.get(check_id) if "\0" not in check_id else None
    return None if found is None else _check_view(found)


def _check_view(check: CodeCheck) -> CheckView:
    return CheckView(
        check_id=check.work_id,
        hotkey=check.hotkey,
        report=check.report,
        score=check.score,
        entered_in=check.entered_in,
        **_tries(check),
    )


def _tries(work: WaitingWork) -> dict[str, Any]:
    """Return the fields of all waiting work."""
    return {
        "round_id": work.round_id,
        "task_id": work.task_id,
        "state": work.state,
        "attempts": work.attempts,
        "queued_at": work.queued_at,
        "due_at": work.due_at,
        "started_at": work.started_at,
        "ended_at": work.ended_at,
        "reason": work.reason,
        "meaning": meaning_of(work.reason),
        "detail": work.detail,
    }
