"""The rows that follow from a round's plan and outcome, as plain values: what the tables must hold."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from validator.protocol.round import (
    FlagRaised,
    RoundInput,
    RoundOutcome,
    RoundPlan,
)
from validator.protocol.round.forms import task_form
from validator.scoring import Version
from validator.store.records import RoundSummary, TaskEnd, WindowEntry, entries_of

Rows = dict[str, Any]


def plan_rows(frozen: RoundInput, plan: RoundPlan) -> Rows:
    """Return what opening the round stored: tasks, groups and dispatches, by their keys."""
    planned = list(zip(frozen.tasks, plan.groups, strict=True))
    return {
        "tasks": {
            task.task_id: {
                "position": position,
                "skill_type": str(task.skill_type),
                "slot": task.slot,
                "source_sha256": task.source_sha256,
                "bundle_sha256": task.bundle_sha256,
                "nonce": task.nonce,
                "provenance": task_form(task).provenance,
                "mode": group.mode,
            }
            for position, (task, group) in enumerate(planned)
        },
        "groups": {group.task_id: group for group in plan.groups},
        "dispatches": {
            f"{task.task_id}/{hotkey}": {"skill_type": str(task.skill_type), "role": role, "rank": rank}
            for task, group in planned
            for rank, (hotkey, role) in enumerate(group.members)
        },
    }


def outcome_rows(version: Version, frozen: RoundInput, outcome: RoundOutcome) -> Rows:
    """Return what settling the round stored, by their keys; lists where the order counts."""
    return {
        "summary": plain("summary", RoundSummary.of(outcome)),
        "task_ends": plain("task_ends", [TaskEnd(one.task_id, one.task_state, one.reason) for one in outcome.groups]),
        "flags": plain("flags", outcome.flags),
        "window_entries": plain("window_entries", entries_of(version, frozen, outcome)),
    }


def no_rows() -> Rows:
    """Return what a round that was not settled leaves: nothing that counts for anybody."""
    return {part: plain(part, ()) for part in ("flags", "window_entries")}


def plain(part: str, values: Any) -> Any:
    """Return a part of what settling stores, computed or read from the tables, as plain values."""
    return _PLAIN[part](values)


def _by_task(values: Iterable[TaskEnd]) -> Rows:
    return {end.task_id: {"state": end.state, "reason": end.reason} for end in values}


def _by_type(values: Iterable[FlagRaised]) -> Rows:
    return {f"{one.hotkey}/{one.skill_type}": one for one in values}


def _entries(values: Iterable[WindowEntry]) -> list[Rows]:
    return [
        {"hotkey": one.hotkey, "skill_type": one.skill_type, "task_id": one.task_id, "value": one.value}
        for one in values
    ]


_PLAIN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "summary": lambda summary: {field.name: getattr(summary, field.name) for field in fields(RoundSummary)},
    "task_ends": _by_task,
    "flags": _by_type,
    "window_entries": _entries,
}
