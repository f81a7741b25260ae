"""Executions as plain values: what a round queued and counted, and the entries that this took (SPEC 15, D-30)."""

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from validator.audit.replay.derived import Rows
from validator.protocol.round import RoundInput
from validator.scoring import Version
from validator.store.records import WindowEntry
from validator.store.waiting import Execution, QueuedWork


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
