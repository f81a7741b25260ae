"""Gates 1 to 3 of a plan, from its bytes to one that may be run, and checks of a stored run (SPEC 5, 12). Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from sssa.kinds.judging import PARSE_REASONS, Expected, Judged, reject_answer
from sssa.protocol.answer import Role
from sssa.protocol.canonical import digest
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Packed, Rejection, WorkflowSubmission, packed
from sssa.protocol.round import GoalTask
from sssa.protocol.strict_json import JsonError
from sssa.protocol.text import printable
from sssa.protocol.workflow_plan import PlanError, WorkflowPlan, parse_plan, plan_validity
from sssa.scoring import Fault, Version, read_quality, rests_on_reference, result_of, totals_fault

GATES_OF_PLANS: Final = (1, 2, 3)


def applying_gates(_task: GoalTask, _role: Role) -> Collection[int]:
    """Return the numbers of the gates that a plan goes through."""
    return GATES_OF_PLANS


@dataclass(frozen=True, slots=True)
class AcceptedPlan:
    """A plan that passed gates 1 to 3 and may be run; `sha256` is of its canonical bytes with the signature's value."""

    plan: WorkflowPlan
    sha256: str

    def as_ran(self, expected: Expected[GoalTask], seconds: float, stored: Packed | Rejection | None) -> Judged:
        """Return the judgement with the stored run, the quality of its output judged again where it can be."""
        kept = stored.unpacked() if isinstance(stored, Packed) else None
        if not isinstance(kept, WorkflowSubmission):
            return reject_answer(expected, Reason.ACCEPTED, seconds)  # a difference that names what it should have been
        quality = read_quality(expected.task.goal, result_of(self.plan, kept.run))
        again = msgspec.structs.replace(
            kept,
            plan=self.plan,
            plan_sha256=self.sha256,
            seconds=seconds,
            role=expected.role,
            quality=kept.quality if quality is None else quality,
        )
        return Judged(packed(again), Reason.ACCEPTED)


def judge_plan(expected: Expected[GoalTask], body: bytes, seconds: float) -> AcceptedPlan | Judged:
    """Send one answer to a workflow task through its gates. Pure; belongs off the event loop."""
    if seconds > expected.task.windows.of(expected.role).deadline:
        return reject_answer(expected, Reason.DEADLINE_LATE, seconds)
    try:
        plan = parse_plan(body)
    except PlanError as error:
        return reject_answer(expected, Reason.PARSE_PLAN, seconds, printable(str(error)))
    except JsonError as error:
        reason = PARSE_REASONS.get(type(error), Reason.PARSE_SCHEMA)
        return reject_answer(expected, reason, seconds, printable(str(error)))
    less = totals_fault(plan)
    if less is not None:
        return reject_answer(expected, Reason.PARSE_TOTALS, seconds, printable(less))
    fault = plan_validity(plan, expected.task.goal, expected.task.nonce, expected.hotkey)
    if fault is not None:
        return reject_answer(expected, fault[0], seconds, printable(fault[1]))
    return AcceptedPlan(plan, digest(plan))


def completed(_version: Version, judged: Mapping[str, Judged]) -> dict[str, Packed]:
    """Return the plans that were run, by hotkey: nothing of one depends on another."""
    return {hotkey: one.result for hotkey, one in judged.items() if isinstance(one.result, Packed)}


def needs_truth(_version: Version, task: GoalTask, answer: WorkflowSubmission) -> bool:
    """Return whether the run's quality was read with the reference; the quality of code needs a run, or is unknown."""
    return rests_on_reference(task.goal, result_of(answer.plan, answer.run))


def misstated(
    _version: Version, expected: Expected[GoalTask], answer: WorkflowSubmission, _witnesses: int
) -> Fault | None:
    """Return the first claim that the gates cannot have let pass; `submission_fault` compares the run with its plan."""
    if answer.seconds > expected.task.windows.of(answer.role).deadline:
        return Fault("seconds", "is later than the deadline, which gate 1 does not let pass")
    return None
