"""Comparison of the rows that listings and later rounds read with the records of their rounds. For `db check`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

import msgspec

from sssa.protocol import typed
from sssa.protocol.differences import first_difference
from sssa.protocol.dispatch_record import planned_dispatches
from sssa.protocol.round import RoundInput, RoundOutcome, RoundPlan
from sssa.protocol.waiting_work import CodeCheck, Execution, QueuedWork
from sssa.scoring import UnknownScoringVersionError, struck_entries, version
from validator.store.repositories.rounds import frozen_columns
from validator.store.repositories.waiting_work import queued_checks, queued_executions
from validator.store.rows import RoundSummary, TaskRecord, WindowEntry, entries_of, planned_tasks
from validator.store.transaction import Transaction

_TASK_END: Final = {"state", "reason"}
_TASK: Final = [field.name for field in fields(TaskRecord) if field.name not in {"round_id", "task_id"}]
_DISPATCH: Final = ("task_id", "hotkey", "skill_type", "role", "rank")
Rows = Mapping[str, Any]


async def row_faults(tx: Transaction, round_id: int) -> list[str]:
    """Return where the rows of an ended round differ from its record: the first place of each kind of row.

    Raises:
        DamagedError: the record cannot be read.
    """
    record, head = await tx.rounds.record(round_id), await tx.records.head(round_id)
    if record is None or head is None:
        return []
    executions, checks = await tx.executions.about(round_id), await tx.code_checks.about(round_id)
    stored = {
        "flags": {f"{one.hotkey}/{one.skill_type}": one.raised for one in await tx.flags.of_round(round_id)},
        "window_entries": _entries(_as_added(await tx.windows.of_round(round_id), executions[0])),
    }
    expected: dict[str, Any] = {"flags": {}, "window_entries": []}
    plan, outcome = await tx.records.plan(round_id), await tx.records.outcome(round_id)
    faults: list[str] = []
    if head.input is not None and plan is not None:
        try:
            frozen = typed.decode(head.input, RoundInput)
            version(frozen.scoring_version)  # known
        except (msgspec.MsgspecError, UnknownScoringVersionError) as error:
            return [] if record.state == "abandoned" else [f"its input cannot be read: {error}"]
        ends = outcome is not None
        stored["round"] = await tx.rounds.frozen_columns(round_id)
        expected["round"] = frozen_columns(frozen, plan)
        stored["tasks"] = {
            one.task_id: {name: getattr(one, name) for name in _TASK if ends or name not in _TASK_END}
            for one in await tx.tasks.of_round(round_id)
        }
        expected["tasks"] = _tasks(frozen, plan, outcome)
        stored["dispatches"] = [[getattr(one, name) for name in _DISPATCH] for one in head.dispatches]
        expected["dispatches"] = [
            [getattr(one, name) for name in _DISPATCH] for one in planned_dispatches(frozen, plan)
        ]
        if outcome is not None:
            summary = RoundSummary.of(outcome)
            stored["summary"] = {field.name: getattr(record, field.name) for field in fields(RoundSummary)}
            expected["summary"] = {field.name: getattr(summary, field.name) for field in fields(RoundSummary)}
            expected["flags"] = {f"{one.hotkey}/{one.skill_type}": one for one in outcome.flags}
            expected["window_entries"] = _entries(entries_of(frozen, outcome))
            faults += _waiting(frozen, plan, outcome, executions, checks)
            if head.reports != tuple(one.written for one in executions[1]):
                faults.append("executions.reports: are not those that the record has")
    return [*_differences(stored, expected), *faults]


def _tasks(frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome | None) -> Rows:
    ends = {} if outcome is None else {one.task_id: one for one in outcome.groups}
    rows: dict[str, dict[str, Any]] = {}
    for task in planned_tasks(frozen, plan):
        row = {name: getattr(task, name) for name in _TASK if name not in _TASK_END}
        if task.task_id in ends:
            row |= {"state": ends[task.task_id].task_state, "reason": ends[task.task_id].reason}
        rows[task.task_id] = row
    return rows


def _waiting(
    frozen: RoundInput,
    plan: RoundPlan,
    outcome: RoundOutcome,
    executions: tuple[Sequence[Execution], Sequence[Execution]],
    checks: tuple[Sequence[CodeCheck], Sequence[CodeCheck]],
) -> Iterator[str]:
    """Yield where executions and code checks that a round left, or counted, do not follow from it."""
    (left_by_round, entered), (queued, filled) = executions, checks
    struck = [(one.task_id, result.hotkey) for one in entered for result in one.results if result.struck is not None]
    stored: dict[str, Any] = {
        "executions": _queued(one.queued for one in left_by_round),
        "input.executions": [result for one in entered for result in one.counted],
        "input.executions.struck": sorted(struck),
        "input.filled": [one.filled for one in filled],
    }
    expected: dict[str, Any] = {
        "executions": _queued(queued_executions(frozen, plan, outcome)),
        "input.executions": frozen.executions,
        "input.executions.struck": sorted((one.task_id, one.hotkey) for one in struck_entries(frozen)),
        "input.filled": frozen.filled,
    }
    if queued:  # all of a round, or none: those of a store without an engine
        stored["code_checks"] = _queued(one.queued for one in queued)
        expected["code_checks"] = _queued(queued_checks(frozen, plan, outcome))
    yield from _differences(stored, expected)


def _queued(queued: Iterator[QueuedWork] | Sequence[QueuedWork]) -> Rows:
    return {one.work_id: one._asdict() for one in queued}


def _entries(entries: Sequence[WindowEntry]) -> list[Rows]:
    return [
        {"hotkey": one.hotkey, "skill_type": one.skill_type, "task_id": one.task_id, "value": one.value}
        for one in entries
    ]


def _as_added(entries: Sequence[WindowEntry], executions: Sequence[Execution]) -> list[WindowEntry]:
    """Return a round's window entries before executions struck some of them to 0."""
    struck = {(one.task_id, result.hotkey): result.struck or 0.0 for one in executions for result in one.results}
    return [replace(one, value=one.value + struck.get((one.task_id, one.hotkey), 0.0)) for one in entries]


def _differences(stored: Rows, expected: Rows) -> Iterator[str]:
    for name, rows in expected.items():
        difference = first_difference(_plain(stored[name]), _plain(rows), name)
        if difference is not None:
            yield str(difference)


def _plain(rows: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(rows))
