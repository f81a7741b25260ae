"""A round in numbers: what the conditions are read from, and its canonical line in the log."""

from collections import Counter
from typing import Any

from validator.conditions import CONDITIONS, Declared, SeenRound
from validator.protocol.reasons import Reason
from validator.rounds.listening import EndedRound
from validator.rounds.prepare import Prepared
from validator.store.outcome_rows import summary_of


def seen_of(end: EndedRound, prepared: Prepared | None, declared: Declared | None = None) -> SeenRound:
    """Return a round that ended as the conditions see it.

    Args:
        end: how it ended.
        prepared: what it began with; None where it was skipped. Another round's is passed over.
        declared: the last declarations.
    """
    if prepared is None or prepared.frozen.round_id != end.round_id:
        return SeenRound(end.reason, end.seconds, declared=declared)
    judged = end.returned.judged if end.returned else {}
    tasks = {task.task_id: task for task in prepared.frozen.tasks}
    early = {task_id for (task_id, _), one in judged.items() if one.reason == Reason.ACCEPTED_EARLY}
    return SeenRound(
        reason=end.reason,
        seconds=end.seconds,
        tasks=sum(not task.made_here for task in tasks.values()),
        miners=len(prepared.frozen.miners),
        dispatches=sum(len(group.members) for group in prepared.plan.groups),
        answers=Counter(one.reason for one in judged.values()),
        t_min={str(tasks[task_id].skill_type): tasks[task_id].windows.of("primary").t_min for task_id in sorted(early)},
        declared=declared,
    )


def round_line(end: EndedRound, prepared: Prepared | None, unpaid: int | None) -> dict[str, Any]:
    """Return the fields of a round's canonical line.

    `mean_quality` and `mean_consensus` are null where nothing had a value, `beyond_s` is the time that the round took
    beside its slowest answer, `advice` has a sentence for each condition that this round alone shows.

    Args:
        end: how it ended.
        prepared: what it began with; None where it was skipped.
        unpaid: windows that the newest vectors do not pay; None before the first.
    """
    returned, outcome = end.returned, end.outcome
    reasons = Counter(returned.reasons) if returned else Counter[Reason]()
    taken = [one.result.seconds for one in returned.judged.values()] if returned else []
    slowest = max((seconds for seconds in taken if seconds is not None), default=0.0)
    summary = None if outcome is None else summary_of(outcome.members)
    return {
        "round_id": end.round_id,
        "reason": end.reason,
        "seconds": round(end.seconds, 3),
        "beyond_s": round(end.seconds - slowest, 3),
        "tasks": len(prepared.plan.groups) if prepared else 0,
        "dispatches": dict(sorted(reasons.items())),
        "mean_quality": _rounded(summary.mean_quality if summary else None),
        "mean_consensus": _rounded(summary.mean_consensus if summary else None),
        "most_open": returned.most_open if returned else 0,
        "void_tasks": len(returned.void) if returned else 0,
        "flags": [flag.hotkey for flag in outcome.flags] if outcome else [],
        "unpaid": unpaid,
        "advice": advice_on(seen_of(end, prepared)),
    }


def advice_on(seen: SeenRound) -> list[str]:
    """Return what is odd about one round and what to do, a sentence each; the board waits for a second round."""
    found = ((one, one.in_round(seen)) for one in CONDITIONS.values() if one.in_round is not None)
    return [f"{condition.name}: {detail}. {condition.advice}" for condition, detail in found if detail is not None]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
