"""Facts of a round that ended, in numbers: for `RoundListener`s, conditions, and its line in the log. No I/O."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundOutcome, is_submitted
from validator.miners.directory import Declared
from validator.rounds.prepare import Prepared
from validator.rounds.settle import Returned
from validator.store.rows import RoundSummary


@dataclass(frozen=True, slots=True)
class EndedRound:
    """End of a round: `outcome` is None unless it was settled, `returned` None if it was skipped."""

    round_id: str
    reason: Reason
    seconds: float
    outcome: RoundOutcome | None = None
    returned: Returned | None = None


class RoundListener(Protocol):
    """Watches rounds; its methods must be quick and must not raise."""

    def started(self, prepared: Prepared) -> None:
        """Note a round whose dispatches go out now."""

    def ended(self, end: EndedRound) -> None:
        """Note a round that ended, however it did."""


PASSED = (Reason.ACCEPTED, Reason.ACCEPTED_EARLY, Reason.WORKFLOW_DEFERRED)


@dataclass(frozen=True, slots=True)
class RoundFacts:
    """One round that ended, in numbers.

    Attributes:
        seconds: from snapshot to end.
        tasks: that the sources gave, canaries not among them.
        miners: in its input.
        answers: how many ended with which reason; void ones not among them.
        t_min: of each type with an answer that came too early: seconds.
        declared: the last declarations; None before the first.
    """

    reason: Reason
    seconds: float = 0.0
    tasks: int = 0
    miners: int = 0
    dispatches: int = 0
    answers: Mapping[Reason, int] = field(default_factory=dict)
    t_min: Mapping[str, float] = field(default_factory=dict)
    declared: Declared | None = None

    @property
    def early(self) -> int:
        """Answers that passed and came before t_min."""
        return self.answers.get(Reason.ACCEPTED_EARLY, 0)

    @property
    def passed(self) -> int:
        """Answers that passed their gates."""
        return sum(self.answers.get(reason, 0) for reason in PASSED)


def facts_of(end: EndedRound, prepared: Prepared | None, declared: Declared | None = None) -> RoundFacts:
    """Return the facts of a round that ended, with the last declarations.

    `prepared` is what it began with, None where it was skipped. Another round's is passed over.
    """
    if prepared is None or prepared.frozen.round_id != end.round_id:
        return RoundFacts(end.reason, end.seconds, declared=declared)
    judged = end.returned.judged if end.returned else {}
    tasks = {task.task_id: task for task in prepared.frozen.tasks}
    early = {task_id for (task_id, _), one in judged.items() if one.reason == Reason.ACCEPTED_EARLY}
    return RoundFacts(
        reason=end.reason,
        seconds=end.seconds,
        tasks=sum(not task.made_here and not is_submitted(task) for task in tasks.values()),
        miners=len(prepared.frozen.miners),
        dispatches=sum(len(group.members) for group in prepared.plan.groups),
        answers=Counter(one.reason for one in judged.values()),
        t_min={str(tasks[task_id].skill_type): tasks[task_id].windows.of("primary").t_min for task_id in sorted(early)},
        declared=declared,
    )


def round_line(
    end: EndedRound, prepared: Prepared | None, unpaid: int | None, advice: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of a round's canonical line.

    `mean_quality` and `mean_consensus` are null where nothing had a value, `beyond_s` is the time that the round took
    next to its slowest answer. `unpaid` are windows that the newest vectors do not pay; None before the first.
    """
    returned, outcome = end.returned, end.outcome
    reasons = Counter(returned.reasons) if returned else Counter[Reason]()
    taken = [one.result.seconds for one in returned.judged.values()] if returned else []
    slowest = max((seconds for seconds in taken if seconds is not None), default=0.0)
    summary = None if outcome is None else RoundSummary.of(outcome)
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
        "advice": list(advice.values()),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
