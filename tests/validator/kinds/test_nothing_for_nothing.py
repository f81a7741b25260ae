"""A plan says what it costs, amounts are whole rao, and a run without a step is worth nothing (D-32)."""

import asyncio
import re
from typing import Any

import msgspec
import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from workflow_builders import (
    PLANNER,
    WORKFLOW_NONCE,
    ScriptedServices,
    Try,
    make_plan,
    make_workflow,
    on_virtual_time,
    step,
)

from sssa.kinds.judging import Expected
from sssa.kinds.workflow.explanation import explain_worth
from sssa.kinds.workflow.gates import AcceptedPlan, judge_plan
from sssa.protocol.canonical import digest
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask, WorkflowOutcome
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_plan import WorkflowPlan, goal_sha256
from sssa.protocol.workflow_run import RunRecord, run_id_of
from sssa.protocol.workflow_task import WorkflowTask, task_sha256
from sssa.scoring import (
    Version,
    event_of_failure,
    measure,
    read_quality,
    result_of,
    score_workflow,
    submission_fault,
    totals_fault,
    version,
)
from sssa.sources import VirtualClock
from validator.kinds.workflow.executor import run_plan

BUDGET = {"max_budget_tao": 0.3, "max_latency_seconds": 60.0, "allowed_services": None}
TENTHS = make_workflow(constraints=BUDGET)
CHAIN = [("a", "b"), ("b", "c")]


def totals(cost: float, seconds: float) -> dict[str, Any]:
    return {"totals": {"estimated_cost": cost, "estimated_latency": seconds}}


def round_task(task: WorkflowTask) -> GoalTask:
    return GoalTask(
        task_id="t1",
        skill_type=SkillType.WORKFLOW,
        slot=0,
        source_sha256=task_sha256(task),
        bundle_sha256=goal_sha256(task),
        nonce=WORKFLOW_NONCE,
        windows=version("1.0.0").rules.workflow.windows,
        goal=task,
    )


def judged(plan: WorkflowPlan, task: WorkflowTask, scored_by: Version) -> tuple[str, str]:
    """The reason and its detail; a plan that passes has no reason yet."""
    expected = Expected(round_task(task), PLANNER.hotkey, "primary", UNPUBLISHED, scored_by.name)
    found = judge_plan(expected, msgspec.json.encode(plan), 1.0)
    return ("", "") if isinstance(found, AcceptedPlan) else (str(found.reason), found.detail)


def ran(scored_by: Version, task: WorkflowTask, plan: WorkflowPlan, script: dict[str, list[Try]]) -> RunRecord:
    async def run() -> RunRecord:
        clock = VirtualClock()
        run_id = run_id_of(round_task(task).task_id, PLANNER.hotkey)
        work = run_plan(scored_by, task, plan, ScriptedServices(clock, script), clock, run_id=run_id)
        return await on_virtual_time(clock, work)

    return asyncio.run(run())


def fault(scored_by: Version, task: WorkflowTask, plan: WorkflowPlan, record: RunRecord) -> str | None:
    quality = read_quality(task, result_of(plan, record))
    submission = WorkflowSubmission("t", PLANNER.hotkey, "primary", 1.0, plan, digest(plan), record, quality)
    found = submission_fault(scored_by, round_task(task), submission)
    return None if found is None else f"{found.path}: {found.what}"


@pytest.mark.parametrize(
    ("cost", "seconds", "field"),
    [
        (0.0, 9.0, "estimated_cost"),
        (0.3 - 1e-9, 9.0, "estimated_cost"),
        (0.3 - 1e-10, 2.999999999, "estimated_latency"),
        (0.3 - 1e-10, 3.0 - 1e-10, None),
        (0.3, 3.0, None),
    ],
)
def test_totals_below_the_sums_of_the_steps_fail_gate_2(cost: float, seconds: float, field: str | None) -> None:
    plan = make_plan(TENTHS, [step(name, estimated_cost=0.1) for name in "abc"], CHAIN, **totals(cost, seconds))
    reason, detail = judged(plan, TENTHS, V1)
    if field is None:
        assert (reason, detail) == ("", "")
    else:
        assert (reason, Reason(reason).gate) == ("parse_totals", 2)
        assert re.fullmatch(rf"[0-9.e-]+ is less than the 0?\.?3 of its steps - at `totals\.{field}`", detail)
        assert event_of_failure(V1, Reason(reason)) == "invalid"


@given(st.lists(st.integers(0, 3_600_000).map(lambda n: n / 10_000), min_size=1, max_size=10))
def test_however_a_planner_adds_its_steps_up_its_total_is_enough(costs: list[float]) -> None:
    total = 0.0
    for cost in costs:
        total += cost
    nodes = [step(str(i), estimated_cost=cost, estimated_latency=cost) for i, cost in enumerate(costs)]
    for declared in (total, sum(reversed(costs))):
        assert totals_fault(make_plan(TENTHS, nodes, **totals(declared, declared))) is None


def test_three_steps_of_a_tenth_fit_a_budget_of_three_tenths() -> None:
    plan = make_plan(TENTHS, [step(name, estimated_cost=0.1) for name in "abc"], CHAIN)
    script = {name: [Try(cost=0.1)] for name in "abc"}
    new = ran(V1, TENTHS, plan, script)
    assert [item.completed for item in new.steps] == [True, True, True]
    assert (new.ceiling_tao, measure(TENTHS, plan, new, 1.0).actual_tao) == (0.3, 0.3)
    assert fault(V1, TENTHS, plan, new) is None


def test_one_rao_more_does_not_fit() -> None:
    costs = {"a": 0.1, "b": 0.1, "c": 0.100000001}
    plan = make_plan(TENTHS, [step(name, estimated_cost=cost) for name, cost in costs.items()], CHAIN)
    record = ran(V1, TENTHS, plan, {name: [Try(cost=cost)] for name, cost in costs.items()})
    assert [item.outcome for item in record.steps] == ["step_succeeded", "step_succeeded", "step_budget"]


@pytest.mark.parametrize(
    ("charge", "outcome", "cost"),
    [
        (0.1 + 4e-10, "step_succeeded", 0.1),
        (0.05 + 4e-10, "step_succeeded", 0.05),
        (0.1 + 1e-9, "step_overcharged", 0.1),
    ],
)
def test_a_charge_is_held_against_what_was_admitted_in_whole_rao(charge: float, outcome: str, cost: float) -> None:
    plan = make_plan(TENTHS, [step("a", estimated_cost=0.1)])
    record = ran(V1, TENTHS, plan, {"a": [Try(cost=charge)]})
    [attempt] = record.steps[0].attempts
    assert (attempt.outcome, attempt.cost_tao, attempt.charged_tao) == (outcome, cost, charge)
    assert fault(V1, TENTHS, plan, record) is None


def test_a_log_that_tells_of_a_plan_with_too_small_totals_is_found_out() -> None:
    plan = make_plan(TENTHS, [step("a", estimated_cost=0.1)], **totals(0.0, 1.0))
    record = ran(V1, TENTHS, plan, {})
    assert str(fault(V1, TENTHS, plan, record)).startswith("plan: 0 is less than the 0.1 of its steps")


def test_a_run_without_a_step_is_worth_nothing_and_the_page_says_so() -> None:
    plan = make_plan(TENTHS, [step("a", estimated_cost=0.7)])
    record = ran(V1, TENTHS, plan, {})
    assert [item.outcome for item in record.steps] == ["step_budget"]
    measured = measure(TENTHS, plan, record, 0.0)
    score = score_workflow(V1, measured)
    assert (score.score, score.reliability) == (0.0, 1.0)
    explained = explain_worth(V1, WorkflowOutcome(measured, score))
    assert sum(part.contribution for part in explained.parts) == explained.score == 0.0
    assert "no step completed: counts nothing" in explained.parts[3].why


def test_the_page_tells_the_gate() -> None:
    plan = make_plan(TENTHS, [step("a", estimated_cost=0.1)])
    record = ran(V1, TENTHS, plan, {"a": [Try(cost=0.1)]})
    measured = measure(TENTHS, plan, record, 0.5)
    explained = explain_worth(V1, WorkflowOutcome(measured, score_workflow(V1, measured)))
    assert "not above 0.700000000001:" in explained.parts[1].why
