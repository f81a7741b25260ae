"""Executions of tasks, the runs next to what each miner claims (SPEC 15)."""

from collections.abc import Mapping
from datetime import datetime

from validator.protocol.execution import AnswerReport, ExecutionEvent, RunReport
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.work_states import WorkState
from validator.store import Transaction
from validator.store.waiting import Execution


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
        round_id=execution.round_id,
        task_id=execution.task_id,
        skill_type=execution.skill_type,
        hotkeys=execution.hotkeys,
        state=execution.state,
        attempts=execution.attempts,
        queued_at=execution.queued_at,
        due_at=execution.due_at,
        started_at=execution.started_at,
        ended_at=execution.ended_at,
        reason=execution.reason,
        meaning=meaning_of(execution.reason),
        detail=execution.detail,
        report=execution.report,
        results=tuple(
            ResultView(one.hotkey, one.event, one.report, one.struck)
            for one in execution.results
            if hotkey in {None, one.hotkey}
        ),
        counted_in=execution.entered_in,
    )
