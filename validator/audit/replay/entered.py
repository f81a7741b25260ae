"""Reruns as plain values: what a round queued and counted, and the window entries that this took (SPEC 15, D-30)."""

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from validator.audit.replay.derived import Rows
from validator.protocol.round import RoundInput
from validator.scoring import Version
from validator.store.records import WindowEntry
from validator.store.rerun import QueuedRerun, Rerun


def rerun_rows(queued: Iterable[QueuedRerun]) -> Rows:
    """Return what settling a round wanted to have run again, by rerun id."""
    return {one.rerun_id: msgspec.to_builtins(one._asdict()) for one in queued}


def result_rows(version: Version, frozen: RoundInput) -> Rows:
    """Return what a settled round counted, by rerun id; `version` is its own."""
    struck = {(one.hotkey, one.round_id, one.task_id) for one in version.struck_entries(frozen)}
    return {
        result.rerun_id: {
            "hotkey": result.hotkey,
            "skill_type": str(result.skill_type),
            "event": result.event,
            "struck": (result.hotkey, result.round_id, result.task_id) in struck,
        }
        for result in frozen.reruns
    }


def entered_rows(reruns: Iterable[Rerun]) -> Rows:
    """Return the same from the table."""
    return {
        one.rerun_id: {
            "hotkey": one.key.hotkey,
            "skill_type": str(one.skill_type),
            "event": one.event,
            "struck": one.struck is not None,
        }
        for one in reruns
    }


def as_added(entries: Iterable[WindowEntry], reruns: Iterable[Rerun]) -> list[WindowEntry]:
    """Return a round's window entries as it added them: what reruns took is added to the 0 that they left.

    An entry that was struck and is worth something all the same does not follow from anything then.
    """
    struck = {(one.key.task_id, one.key.hotkey): one.struck for one in reruns if one.struck is not None}
    return [replace(entry, value=entry.value + struck.get((entry.task_id, entry.hotkey), 0.0)) for entry in entries]
