"""The rows of a round as plain values: as they follow from its input, plan and outcome, and as the tables have them."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, Final

import msgspec

from validator.protocol.round import FlagRaised, GroupPlan
from validator.store.dispatch import Dispatch, PlannedDispatch
from validator.store.rows import RoundRecord, RoundSummary, TaskEnd, TaskRecord, WindowEntry
from validator.store.waiting_work import Execution, QueuedWork

Rows = dict[str, Any]
_ENDS: Final = ("round_id", "task_id", "state", "reason")  # of a task: its key, and what it came to
_TASK: Final = tuple(field.name for field in fields(TaskRecord) if field.name not in _ENDS)
_SUMMARY: Final = tuple(field.name for field in fields(RoundSummary))


def opened_rows(
    tasks: Iterable[TaskRecord], groups: Iterable[GroupPlan], dispatches: Iterable[PlannedDispatch | Dispatch]
) -> Rows:
    """Return what opening a round stores, by the rows' keys."""
    return {
        "tasks": {one.task_id: {name: getattr(one, name) for name in _TASK} for one in tasks},
        "groups": {one.task_id: one for one in groups},
        "dispatches": {
            f"{one.task_id}/{one.hotkey}": {"skill_type": one.skill_type, "role": one.role, "rank": one.rank}
            for one in dispatches
        },
    }


def ended_rows(
    summary: RoundSummary | RoundRecord,
    ends: Iterable[TaskEnd],
    flags: Iterable[FlagRaised],
    entries: Iterable[WindowEntry],
) -> Rows:
    """Return what settling a round stores, by the rows' keys; a list where the order counts."""
    return {
        "summary": {name: getattr(summary, name) for name in _SUMMARY},
        "task_ends": {one.task_id: {"state": one.state, "reason": one.reason} for one in ends},
        "flags": {f"{one.hotkey}/{one.skill_type}": one for one in flags},
        "window_entries": [
            {"hotkey": one.hotkey, "skill_type": one.skill_type, "task_id": one.task_id, "value": one.value}
            for one in entries
        ],
    }


NOTHING: Final[Rows] = {"flags": {}, "window_entries": []}
"""The rows that a round leaves that was not settled: none that counts for anybody."""


def queued_rows(queued: Iterable[QueuedWork]) -> Rows:
    """Return what settling a round left to be done, by id."""
    return {one.work_id: msgspec.to_builtins(one._asdict()) for one in queued}


def as_added(entries: Iterable[WindowEntry], executions: Sequence[Execution]) -> list[WindowEntry]:
    """Return a round's window entries as it added them: what executions took is added to the 0 that they left.

    An entry that was struck and is worth something all the same does not follow from anything then.
    """
    struck = {(one.task_id, result.hotkey): result.struck or 0.0 for one in executions for result in one.results}
    return [replace(entry, value=entry.value + struck.get((entry.task_id, entry.hotkey), 0.0)) for entry in entries]
