"""The rows of a round as the tables hold them, in the form of `derived`."""

from dataclasses import dataclass
from typing import Any

from validator.audit.replay.derived import Rows, plain
from validator.audit.replay.entered import as_added
from validator.store import Transaction
from validator.store.dispatch import Dispatch
from validator.store.records import RoundRecord, TaskEnd, TaskRecord
from validator.store.waiting import Execution

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
    """The rows of one round in a transaction; what several parts are made of is read once.

    Args:
        tx: for reading.
        record: of the round.
    """

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
                f"{record.key.task_id}/{record.key.hotkey}": {
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
    return [found.flag for found in await rows.tx.flags.of_round(rows.record.round_id)]


async def _window_entries(rows: StoredRows) -> Any:
    return as_added(await rows.tx.windows.of_round(rows.record.round_id), await rows.executions())


_PARTS = {
    "summary": _summary,
    "task_ends": _task_ends,
    "flags": _flags,
    "window_entries": _window_entries,
}
