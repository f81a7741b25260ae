"""The rows of a round as the tables hold them, in the form of `derived`."""

from typing import Any

import msgspec

from validator.audit.replay.derived import Rows, plain
from validator.audit.replay.entered import as_added
from validator.store import Transaction
from validator.store.outcome_rows import TaskEnd
from validator.store.records import RoundRecord

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


async def stored_plan_rows(tx: Transaction, round_id: int) -> Rows:
    """Return tasks, groups and dispatches as opening the round stored them."""
    tasks = {task.task_id: task for task in await tx.tasks.of_round(round_id)}
    return {
        "tasks": {
            name: msgspec.to_builtins({column: getattr(task, column) for column in _TASK_COLUMNS})
            for name, task in tasks.items()
        },
        "groups": {g.task_id: msgspec.to_builtins(g) for g in (await tx.groups.plan_of(round_id)).groups},
        "dispatches": {
            f"{record.key.task_id}/{record.key.hotkey}": {
                "skill_type": str(record.skill_type),
                "role": record.role,
                "rank": record.rank,
            }
            for record in await tx.dispatches.of_round(round_id)
        },
    }


async def stored_rows(tx: Transaction, record: RoundRecord, part: str) -> Any:
    """Return one part of what settling the round stored."""
    return plain(part, await _PARTS[part](tx, record))


async def _summary(_tx: Transaction, record: RoundRecord) -> Any:
    return record


async def _task_ends(tx: Transaction, record: RoundRecord) -> Any:
    return [TaskEnd(task.task_id, task.state, task.reason) for task in await tx.tasks.of_round(record.round_id)]


async def _group_ends(tx: Transaction, record: RoundRecord) -> Any:
    return [group.outcome for group in await tx.groups.of_round(record.round_id) if group.outcome]


async def _scores(tx: Transaction, record: RoundRecord) -> Any:
    return await tx.scores.of_round(record.round_id)


async def _agreements(tx: Transaction, record: RoundRecord) -> Any:
    return await tx.agreements.of_round(record.round_id)


async def _flags(tx: Transaction, record: RoundRecord) -> Any:
    return [found.flag for found in await tx.flags.of_round(record.round_id)]


async def _reputation_events(tx: Transaction, record: RoundRecord) -> Any:
    return [found.event for found in await tx.reputations.of_round(record.round_id)]


async def _window_entries(tx: Transaction, record: RoundRecord) -> Any:
    return as_added(await tx.windows.of_round(record.round_id), await tx.reruns.of_round(record.round_id))


_PARTS = {
    "summary": _summary,
    "task_ends": _task_ends,
    "group_ends": _group_ends,
    "scores": _scores,
    "agreements": _agreements,
    "flags": _flags,
    "reputation_events": _reputation_events,
    "window_entries": _window_entries,
}
