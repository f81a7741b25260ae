"""From a plan's bytes to a plan that may be run: gates 1 to 3 (SPEC 5, 12)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import msgspec

from validator.kinds.judging import PARSE_REASONS, Expected, Judged, reject_answer
from validator.protocol.answer import Role
from validator.protocol.canonical import digest
from validator.protocol.plan_rules import PlanError
from validator.protocol.reasons import Reason
from validator.protocol.round import GoalTask, Judgement, WorkflowSubmission
from validator.protocol.strict_json import JsonError
from validator.protocol.text import printable
from validator.protocol.workflow_plan import WorkflowPlan, parse_plan, plan_validity
from validator.scoring import version

GATES_OF_PLANS: Final = (1, 2, 3)


def applying_gates(_task: GoalTask, _role: Role) -> Collection[int]:
    """Return the numbers of the gates that a plan goes through."""
    return GATES_OF_PLANS


@dataclass(frozen=True, slots=True)
class AcceptedPlan:
    """A plan that passed gates 1 to 3 and may be run; `sha256` is of its canonical bytes with the signature's value."""

    plan: WorkflowPlan
    sha256: str

    def as_ran(self, expected: Expected[GoalTask], seconds: float, stored: Judgement | None) -> Judged:
        """Return the judgement with the stored run, the quality of its output judged again where it can be."""
        if not isinstance(stored, WorkflowSubmission):
            return reject_answer(expected, Reason.ACCEPTED, seconds)  # a difference that names what it should have been
        scored_by = version(expected.scoring_version)
        quality = scored_by.read_quality(expected.task.goal, scored_by.result_of(self.plan, stored.run))
        again = msgspec.structs.replace(
            stored,
            plan=self.plan,
            plan_sha256=self.sha256,
            seconds=seconds,
            role=expected.role,
            quality=stored.quality if quality is None else quality,
        )
        return Judged(again, Reason.ACCEPTED)


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
    less = version(expected.scoring_version).totals_fault(plan)
    if less is not None:
        return reject_answer(expected, Reason.PARSE_TOTALS, seconds, printable(less))
    fault = plan_validity(plan, expected.task.goal, expected.task.nonce, expected.hotkey)
    if fault is not None:
        return reject_answer(expected, fault[0], seconds, printable(fault[1]))
    return AcceptedPlan(plan, digest(plan))
