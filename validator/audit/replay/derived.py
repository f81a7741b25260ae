"""The rows that follow from a round's plan and outcome, as plain values: what the tables must hold."""

from collections.abc import Mapping
from typing import Any

import msgspec

from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan
from validator.scoring import Version
from validator.store.records import RoundSummary
from validator.store.repositories.tasks import task_state
from validator.store.summary import summarise

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
        "groups": {group.task_id: msgspec.to_builtins(group) for group in plan.groups},
        "dispatches": {
            f"{task.task_id}/{hotkey}": {"skill_type": str(task.skill_type), "role": role, "rank": rank}
            for task, group in planned
            for rank, (hotkey, role) in enumerate(group.members)
        },
    }


def outcome_rows(version: Version, frozen: RoundInput, outcome: RoundOutcome) -> Rows:
    """Return what settling the round stored, by their keys; lists where the order counts."""
    plain = msgspec.to_builtins(outcome)
    return {
        "summary": summary_row(summarise(outcome.members)),
        "task_ends": {g.task_id: {"state": task_state(g.reason), "reason": g.reason} for g in outcome.groups},
        "group_ends": {group["task_id"]: group for group in plain["groups"]},
        "scores": {f"{member['task_id']}/{member['hotkey']}": member for member in plain["members"]},
        "agreements": {f"{sample['hotkey']}/{sample['skill_type']}": sample for sample in plain["samples"]},
        "flags": {f"{flag['hotkey']}/{flag['skill_type']}": flag for flag in plain["flags"]},
        "reputation_events": plain["reputation"],
        "window_entries": [
            {"hotkey": hotkey, "skill_type": skill_type, "task_id": task_id, "value": value}
            for hotkey, skill_type, task_id, value in version.window_entries(frozen, outcome)
        ],
    }


def no_rows() -> Rows:
    """Return what a round that was not settled leaves: nothing that counts for anybody."""
    return {"scores": {}, "agreements": {}, "flags": {}, "reputation_events": [], "window_entries": []}


def summary_row(summary: RoundSummary) -> Mapping[str, Any]:
    """Return the numbers of the listing under their columns' names."""
    return {
        "accepted_count": summary.accepted,
        "failed_count": summary.failed,
        "mean_quality": summary.mean_quality,
        "mean_consensus": summary.mean_consensus,
    }
