"""The rows of a round as plain values: as they follow from its input, plan and outcome, and as the tables have them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import msgspec

from validator.protocol.round import FlagRaised, RoundInput, RoundOutcome, RoundPlan
from validator.scoring import Version
from validator.store import Transaction
from validator.store.dispatch import Dispatch
from validator.store.rows import RoundRecord, RoundSummary, TaskEnd, TaskRecord, WindowEntry, entries_of
from validator.store.waiting_work import Execution, QueuedWork

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
                "provenance": task.provenance,
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


def queued_rows(queued: Iterable[QueuedWork]) -> Rows:
    """Return what settling a round left to be done, by id."""
    return {one.work_id: msgspec.to_builtins(one._asdict()) for one in queued}


def result_rows(version: Version, frozen: RoundInput) -> Rows:
    """Return what a settled round counted, by answer; `version` is its own."""
    struck = {(one.hotkey, one.round_id, one.task_id) for one in version.struck_entries(frozen)}
    return {
        f"{one.round_id}/{one.task_id}/{one.hotkey}": {
            "skill_type": str(one.skill_type),
            "event": one.event,
            "struck": (one.hotkey, one.round_id, one.task_id) in struck,
        }
        for one in frozen.executions
    }


def entered_rows(executions: Iterable[Execution]) -> Rows:
    """Return the same from the table."""
    return {
        f"{one.round_id}/{one.task_id}/{result.hotkey}": {
            "skill_type": str(one.skill_type),
            "event": result.event,
            "struck": result.struck is not None,
        }
        for one in executions
        for result in one.results
    }


def as_added(entries: Iterable[WindowEntry], executions: Iterable[Execution]) -> list[WindowEntry]:
    """Return a round's window entries as it added them: what executions took is added to the 0 that they left.

    An entry that was struck and is worth something all the same does not follow from anything then.
    """
    struck = {(one.task_id, result.hotkey): result.struck or 0.0 for one in executions for result in one.results}
    return [replace(entry, value=entry.value + struck.get((entry.task_id, entry.hotkey), 0.0)) for entry in entries]


_TASK_COLUMNS = (
    "position",
    "skill_type",
    "slot",
    "source_sha256",
    "bundle_sha256",
    "nonce",
    "provenance",
    "mode",
)


@dataclass(slots=True)
class StoredRows:
    """The rows of one round in a transaction; what several parts are made of is read once."""

    tx: Transaction
    record: RoundRecord
    _tasks: tuple[TaskRecord, ...] | None = None
    _dispatches: tuple[Dispatch, ...] | None = None
    _executions: tuple[Execution, ...] | None = None

    async def tasks(self) -> tuple[TaskRecord, ...]:
        """Return the round's tasks, in the order of the plan."""
        if self._tasks is None:
            self._tasks = await self.tx.tasks.of_round(self.record.round_id)
        return self._tasks

    async def dispatches(self) -> tuple[Dispatch, ...]:
        """Return its dispatches, in the order of the plan."""
        if self._dispatches is None:
            self._dispatches = await self.tx.dispatches.of_round(self.record.round_id)
        return self._dispatches

    async def executions(self) -> tuple[Execution, ...]:
        """Return the executions of its tasks."""
        if self._executions is None:
            self._executions = await self.tx.executions.of_round(self.record.round_id)
        return self._executions

    async def plan(self) -> Rows:
        """Return tasks, groups and dispatches as opening the round stored them."""
        plan = await self.tx.groups.plan_of(self.record.round_id)
        return {
            "tasks": {
                task.task_id: {column: getattr(task, column) for column in _TASK_COLUMNS} for task in await self.tasks()
            },
            "groups": {group.task_id: group for group in plan.groups},
            "dispatches": {
                f"{record.task_id}/{record.hotkey}": {
                    "skill_type": str(record.skill_type),
                    "role": record.role,
                    "rank": record.rank,
                }
                for record in await self.dispatches()
            },
        }

    async def part(self, name: str) -> Any:
        """Return one part of what settling the round stored."""
        return plain(name, await _PARTS[name](self))


async def _summary(rows: StoredRows) -> Any:
    return rows.record


async def _task_ends(rows: StoredRows) -> Any:
    return [TaskEnd(task.task_id, task.state, task.reason) for task in await rows.tasks()]


async def _flags(rows: StoredRows) -> Any:
    return [found.raised for found in await rows.tx.flags.of_round(rows.record.round_id)]


async def _window_entries(rows: StoredRows) -> Any:
    return as_added(await rows.tx.windows.of_round(rows.record.round_id), await rows.executions())


_PARTS = {
    "summary": _summary,
    "task_ends": _task_ends,
    "flags": _flags,
    "window_entries": _window_entries,
}
