"""Plans on virtual time: order, retries, limits, money, and what is measured of them."""

import asyncio
import math
from typing import Any

import msgspec
import pytest
from builders import V1
from hypothesis import given, settings
from hypothesis import strategies as st
from workflow_builders import FOREVER, ScriptedServices, Try, make_plan, make_workflow, on_virtual_time, step

from sssa.protocol.arithmetic import whole
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.reasons import Reason
from sssa.protocol.workflow_plan import WorkflowPlan
from sssa.protocol.workflow_run import RunRecord, StepOutput, StepRecord
from sssa.protocol.workflow_task import WorkflowTask
from sssa.scoring import measure, result_of, score_workflow
from sssa.sources import VirtualClock
from validator.kinds.workflow.executor import run_plan

TASK = make_workflow()
DIAMOND = [
    *(("start", middle) for middle in ("m1", "m2", "m3", "m4")),
    *((f"m{i}", f"n{i}") for i in range(1, 5)),
    *((f"n{i}", "end") for i in range(1, 5)),
]
DIAMOND_STEPS = ("start", "m1", "m2", "m3", "m4", "n1", "n2", "n3", "n4", "end")


def as_stored(record: RunRecord) -> RunRecord:
    return msgspec.json.decode(canonical_bytes(record), type=RunRecord)


async def ran(
    plan: WorkflowPlan, script: dict[str, list[Try]] | None = None, task: WorkflowTask = TASK
) -> tuple[RunRecord, ScriptedServices]:
    clock = VirtualClock()
    services = ScriptedServices(clock, script or {})
    record = await on_virtual_time(clock, run_plan(V1, task, plan, services, clock, run_id="run-1"))
    assert as_stored(record) == record
    return record, services


async def turns() -> None:
    """Let everything that is ready run."""
    for _ in range(20):
        await asyncio.sleep(0)


def of(record: RunRecord, node: str) -> StepRecord:
    return next(step for step in record.steps if step.node_id == node)


def outcomes(record: RunRecord, node: str) -> list[Reason]:
    return [attempt.outcome for attempt in of(record, node).attempts]


async def test_a_diamond_of_ten_steps_takes_exactly_its_longest_path() -> None:
    seconds = dict(zip(DIAMOND_STEPS, (1.5, 1, 2, 3, 4.25, 8, 1, 2, 0.5, 2.75), strict=True))
    plan = make_plan(TASK, [step(name, timeout=20) for name in DIAMOND_STEPS], DIAMOND)
    record, _ = await ran(plan, {name: [Try(seconds[name])] for name in DIAMOND_STEPS})
    longest = max(seconds["start"] + seconds[f"m{i}"] + seconds[f"n{i}"] + seconds["end"] for i in range(1, 5))
    assert record.seconds == longest == 13.25
    assert all(item.completed for item in record.steps)
    # Not tier by tier: n2 began when m2 had ended, while m4 was still running.
    assert of(record, "n2").attempts[0].started == 3.5 < of(record, "m4").attempts[0].ended


async def test_outputs_reach_the_steps_that_refer_to_them() -> None:
    reader = step("b", {"whole": "${a.output.data.list.1}", "within": ["<${a.output.text}|${a.output.data.list}>"]})
    output = StepOutput("hello", None, {"list": [1, {"x": None}]})
    _, services = await ran(make_plan(TASK, [step("a"), reader], [("a", "b")]), {"a": [Try(output=output)]})
    assert services.requests[1].params == {"whole": {"x": None}, "within": ['<hello|[1,{"x":null}]>']}


@pytest.mark.parametrize("path", ["code", "data.list.2", "data.list.x", "data.list.-1", "text.0", "data.list.1.x"])
async def test_a_reference_to_nothing_is_a_hard_failure_without_a_call(path: str) -> None:
    reader = step("b", {"x": f"${{a.output.{path}}}"}, retries=3)
    plan = make_plan(TASK, [step("a"), reader], [("a", "b")])
    record, services = await ran(plan, {"a": [Try(output=StepOutput("t", None, {"list": [1, {"x": None}]}))]})
    assert of(record, "b").outcome == Reason.STEP_REFERENCE
    assert path in of(record, "b").detail
    assert len(services.requests) == 1
    assert measure(TASK, plan, record, 1.0).hard_failures == 1


async def test_params_that_outputs_would_blow_up_are_not_built() -> None:
    reader = step("b", {"x": "${a.output.code}" * 700})
    plan = make_plan(TASK, [step("a"), reader], [("a", "b")])
    record, _ = await ran(plan, {"a": [Try(output=StepOutput(None, "c" * 65_536, None))]})
    assert of(record, "b").outcome == Reason.STEP_REFERENCE


async def test_declared_retries_are_used_and_cost_nothing_in_the_formula() -> None:
    plan = make_plan(TASK, [step("a", retries=2)])
    record, _ = await ran(plan, {"a": [Try(fault=Reason.STEP_STATUS), Try(fault=Reason.STEP_TRANSPORT), Try()]})
    assert outcomes(record, "a") == [Reason.STEP_STATUS, Reason.STEP_TRANSPORT, Reason.STEP_SUCCEEDED]
    run = measure(TASK, plan, record, 1.0)
    assert (run.actual_retries, run.declared_retry_budget, run.hard_failures) == (2, 2, 0)
    assert score_workflow(V1, run).reliability == 1.0


async def test_one_retry_follows_a_connection_that_broke_before_the_answer() -> None:
    plan = make_plan(TASK, [step("a")])
    record, _ = await ran(plan, {"a": [Try(fault=Reason.STEP_CONNECTION), Try()]})
    run = measure(TASK, plan, record, 1.0)
    assert (run.steps_completed, run.actual_retries, run.declared_retry_budget) == (1, 1, 0)
    assert score_workflow(V1, run).reliability == 0.9


async def test_there_is_one_such_retry_and_only_for_such_a_break() -> None:
    plan = make_plan(TASK, [step("a", retries=1), step("b", retries=1), step("c")])
    broken, cut = Try(fault=Reason.STEP_CONNECTION), Try(fault=Reason.STEP_TRANSPORT)
    record, _ = await ran(plan, {"a": [broken], "b": [broken, cut], "c": [cut]})
    assert [len(item.attempts) for item in record.steps] == [3, 2, 1]
    assert measure(TASK, plan, record, 0.0).hard_failures == 3


async def test_a_step_is_cut_off_at_its_declared_limit() -> None:
    plan = make_plan(TASK, [step("a", timeout=2.5, retries=1), step("b")])
    record, services = await ran(plan, {"a": [Try(FOREVER)]})
    assert outcomes(record, "a") == [Reason.STEP_TIMEOUT] * 2
    assert [attempt.ended - attempt.started for attempt in of(record, "a").attempts] == [2.5, 2.5]
    assert services.open_now == 0
    run = measure(TASK, plan, record, 1.0)
    assert (run.timeouts, run.hard_failures, run.actual_seconds) == (2, 1, 5.0)
    assert score_workflow(V1, run).reliability == pytest.approx(0.1)


async def test_a_failure_stops_only_what_depends_on_it() -> None:
    plan = make_plan(TASK, [step(name) for name in "abcd"], [("a", "b"), ("b", "c")])
    record, _ = await ran(plan, {"a": [Try(fault=Reason.STEP_STATUS)]})
    assert [item.outcome for item in record.steps] == [
        Reason.STEP_STATUS,
        Reason.STEP_DEPENDENCY,
        Reason.STEP_DEPENDENCY,
        Reason.STEP_SUCCEEDED,
    ]
    assert measure(TASK, plan, record, 1.0).hard_failures == 1


async def test_a_run_ends_at_one_and_a_half_times_its_latency() -> None:
    task = make_workflow(constraints={"max_budget_tao": 1.0, "max_latency_seconds": 4.0, "allowed_services": None})
    plan = make_plan(task, [step("a", timeout=300), step("b"), step("c")], [("a", "c")])
    record, services = await ran(plan, {"a": [Try(FOREVER)]}, task)
    assert record.seconds == 6.0
    assert outcomes(record, "a") == [Reason.STEP_RUN_ENDED]
    assert [item.outcome for item in record.steps] == [
        Reason.STEP_RUN_ENDED,
        Reason.STEP_SUCCEEDED,
        Reason.STEP_RUN_ENDED,
    ]
    await turns()
    assert services.open_now == 0
    run = measure(task, plan, record, 1.0)
    assert (run.timeouts, run.hard_failures, run.steps_completed) == (0, 1, 1)


async def test_a_run_can_be_cancelled() -> None:
    clock = VirtualClock()
    services = ScriptedServices(clock, {})
    plan = make_plan(TASK, [step("a"), step("b")])
    running = asyncio.ensure_future(run_plan(V1, TASK, plan, services, clock, run_id="r"))
    await turns()
    assert services.open_now == 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await turns()
    assert services.open_now == 0


async def test_what_costs_too_much_is_not_started() -> None:
    plan = make_plan(TASK, [step("a", estimated_cost=0.5), step("b", estimated_cost=0.3), step("c")], [("a", "b")])
    record, _ = await ran(plan, {"a": [Try(cost=0.5)], "b": [Try(cost=0.3)]})
    assert record.ceiling_tao == 1.0
    assert all(item.completed for item in record.steps)
    small = make_plan(TASK, [step("a", estimated_cost=0.5), step("b", estimated_cost=0.6)], [("a", "b")])
    record, services = await ran(small, {"a": [Try(cost=0.5)]})
    assert [item.outcome for item in record.steps] == [Reason.STEP_SUCCEEDED, Reason.STEP_BUDGET]
    assert len(services.requests) == 1
    assert measure(TASK, small, record, 1.0).hard_failures == 0


async def test_the_ceiling_is_one_and_a_half_times_what_was_declared() -> None:
    totals = {"estimated_cost": 0.02, "estimated_latency": 1.0}
    plan = make_plan(TASK, [step(str(i)) for i in range(4)], [("0", "1"), ("1", "2"), ("2", "3")], totals=totals)
    record, _ = await ran(plan)
    assert record.ceiling_tao == pytest.approx(0.03)
    assert [item.completed for item in record.steps] == [True, True, True, False]


async def test_a_step_waits_for_reservations_that_may_settle_for_less() -> None:
    plan = make_plan(TASK, [step("a", estimated_cost=0.7), step("b", estimated_cost=0.7)])
    record, _ = await ran(plan, {"a": [Try(2.0, 0.1)], "b": [Try(2.0, 0.1)]})
    assert all(item.completed for item in record.steps)
    assert of(record, "b").attempts[0].started == 2.0


async def test_who_overcharges_is_refused_and_counts_for_what_was_admitted() -> None:
    plan = make_plan(TASK, [step("a", estimated_cost=0.2)])
    record, _ = await ran(plan, {"a": [Try(cost=5.0)]})
    [attempt] = of(record, "a").attempts
    assert (attempt.outcome, attempt.cost_tao, attempt.charged_tao) == (Reason.STEP_OVERCHARGED, 0.2, 5.0)
    assert of(record, "a").output is None
    run = measure(TASK, plan, record, 1.0)
    assert (run.actual_tao, run.hard_failures, run.steps_completed) == (0.2, 1, 0)


async def test_the_hand_cases_of_the_formula() -> None:
    task = make_workflow(constraints={"max_budget_tao": 1.0, "max_latency_seconds": 8.0, "allowed_services": None})
    four = make_plan(task, [step(name, estimated_cost=0.25) for name in "abcd"], [("a", "b"), ("b", "c"), ("c", "d")])
    record, _ = await ran(four, {name: [Try(1.0, 0.125)] for name in "abcd"}, task)
    assert score_workflow(V1, measure(task, four, record, 0.8)).score == pytest.approx(0.70)
    at_the_gate = score_workflow(V1, measure(task, four, record, 0.7))
    assert (at_the_gate.cost, at_the_gate.latency) == (0.0, 0.0)
    record, _ = await ran(four, {"d": [Try(fault=Reason.STEP_STATUS)]}, task)
    assert score_workflow(V1, measure(task, four, record, 1.0)).success == 0.75
    nothing = make_plan(task, [step("a", estimated_cost=0.0)], totals={"estimated_cost": 0.0, "estimated_latency": 0.0})
    record, _ = await ran(nothing, {}, task)
    assert [item.outcome for item in record.steps] == [Reason.STEP_BUDGET]
    assert score_workflow(V1, measure(task, nothing, record, 0.0)).score == 0.0  # D-32


async def test_fewer_steps_than_required_count_as_missing() -> None:
    task = make_workflow(required_steps=4)
    plan = make_plan(task, [step("a")])
    record, _ = await ran(plan, {}, task)
    assert score_workflow(V1, measure(task, plan, record, 1.0)).success == 0.25


async def test_the_last_ends_output_is_the_result() -> None:
    plan = make_plan(TASK, [step(name) for name in "abcd"], [("a", "b"), ("a", "c"), ("a", "d")])
    script = {name: [Try(output=StepOutput(name, None, None))] for name in "abc"}
    record, _ = await ran(plan, script | {"d": [Try(fault=Reason.STEP_STATUS)]})
    assert result_of(plan, record) == StepOutput("c", None, None)
    record, _ = await ran(plan, script | {"a": [Try(fault=Reason.STEP_STATUS)]})
    assert result_of(plan, record) is None


faults = st.sampled_from(
    [None, None, None, Reason.STEP_CONNECTION, Reason.STEP_TRANSPORT, Reason.STEP_STATUS, Reason.STEP_TOO_LARGE]
)
bends = st.sampled_from([None, None, None, lambda body: body[:-1], lambda body: body.replace(b"text", b"tixt", 1)])
tries = st.lists(
    st.builds(
        Try,
        seconds=st.sampled_from([0.0, 0.3, 1.7, 40.0, FOREVER]),
        cost=st.floats(0, 0.5),
        fault=faults,
        output=st.builds(StepOutput, st.none() | st.text(max_size=5), st.none(), st.none() | st.integers(0, 9)),
        bend=bends,
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[WorkflowTask, list[dict[str, Any]], list[tuple[str, str]], dict[str, Any]]:
    constraints = {
        "max_budget_tao": draw(st.floats(1e-6, 3)),
        "max_latency_seconds": draw(st.floats(0.5, 100)),
        "allowed_services": None,
    }
    names = [str(i) for i in range(draw(st.integers(1, 10)))]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    nodes = []
    for name in names:
        parents = [source for source, target in edges if target == name]
        reads: str | None = draw(st.none() | st.sampled_from(parents)) if parents else None
        params = {} if reads is None else {"x": f"${{{reads}.output.text}}"}
        costs, times = st.floats(0, 0.5), st.floats(0.01, 60)
        nodes.append(
            step(name, params, retries=draw(st.integers(0, 3)), timeout=draw(times), estimated_cost=draw(costs))
        )
    totals = {"estimated_cost": draw(st.floats(0, 3)), "estimated_latency": 1.0}
    return make_workflow(constraints=constraints), nodes, edges, totals


@settings(max_examples=500)
@given(plans(), st.lists(tries, min_size=10, max_size=10), st.floats(0, 1))
def test_no_plan_hangs_or_costs_more_than_its_ceiling(
    drawn: tuple[WorkflowTask, list[dict[str, Any]], list[tuple[str, str]], dict[str, Any]],
    script: list[list[Try]],
    quality: float,
) -> None:
    task, nodes, edges, totals = drawn
    plan = make_plan(task, nodes, edges, totals=totals)
    record, _ = asyncio.run(ran(plan, {str(i): attempts for i, attempts in enumerate(script)}, task))
    limits = task.constraints
    ceiling = whole(min(limits.max_budget_tao, 1.5 * totals["estimated_cost"]))
    spent = math.fsum(attempt.cost_tao for item in record.steps for attempt in item.attempts)
    assert record.ceiling_tao == ceiling
    assert spent <= ceiling
    assert record.seconds <= 1.5 * limits.max_latency_seconds + 1e-6
    assert [item.node_id for item in record.steps] == [node["id"] for node in nodes]
    succeeded = {item.node_id for item in record.steps if item.completed}
    for source, target in edges:
        assert source in succeeded or not next(i for i in record.steps if i.node_id == target).attempts
    for node, item in zip(nodes, record.steps, strict=True):
        assert len(item.attempts) <= node["error_handling"]["retry_count"] + 2
    score = score_workflow(V1, measure(task, plan, record, quality))
    assert 0 <= score.score <= 1 + 1e-9
    assert score_workflow(V1, measure(task, plan, as_stored(record), quality)) == score
