"""From a plan's bytes to what scoring takes: gates 1 to 3, the run, the quality of its output (SPEC 5, 12)."""

from dataclasses import dataclass

from validator.protocol.canonical import digest
from validator.protocol.plan_rules import PlanError
from validator.protocol.reasons import Reason
from validator.protocol.strict_json import JsonError
from validator.protocol.text import printable
from validator.protocol.workflow_plan import WorkflowPlan, parse_plan, plan_validity
from validator.rounds.gates import PARSE_REASONS, Expected
from validator.rounds.judge import Judged, reject_answer


@dataclass(frozen=True, slots=True)
class AcceptedPlan:
    """A plan that passed gates 1 to 3 and may be run; `sha256` is of its canonical bytes with the signature's value."""

    plan: WorkflowPlan
    sha256: str


def judge_plan(expected: Expected, body: bytes, seconds: float) -> AcceptedPlan | Judged:
    """Send one answer to a workflow task through its gates. Pure; belongs off the event loop."""
    task = expected.task.workflow
    if task is None:
        raise ValueError("no workflow")
    if seconds > expected.task.windows.of(expected.role).deadline:
        return reject_answer(expected, Reason.DEADLINE_LATE, seconds)
    try:
        plan = parse_plan(body)
    except PlanError as error:
        return reject_answer(expected, Reason.PARSE_PLAN, seconds, printable(str(error)))
    except JsonError as error:
        reason = PARSE_REASONS.get(type(error), Reason.PARSE_SCHEMA)
        return reject_answer(expected, reason, seconds, printable(str(error)))
    fault = plan_validity(plan, task, expected.task.nonce, expected.hotkey)
    if fault is not None:
        return reject_answer(expected, fault[0], seconds, printable(fault[1]))
    return AcceptedPlan(plan, digest(plan))
