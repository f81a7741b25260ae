"""The local network's small English, and what planners of every skill make of it."""

import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from localnet.library import WINDOWS
from localnet.planner.goal_parser import Step, UnreadableGoalError, read_goal
from localnet.planner.planner_server import LocalPlanner
from localnet.planner.skills import HABITS, plan_steps
from miner.goals.goal_files import local_goals
from miner.services.catalogue import ACTIONS, BY_NAME, SERVICES, ServiceAddress
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Window
from sssa.protocol.workflow_plan import (
    OfferedTool,
    PlanError,
    WorkflowDispatch,
    WorkflowGoal,
    ancestors,
    check_plan,
    goal_of,
    parse_plan,
    plan_validity,
    workflow_bodies,
)
from sssa.protocol.workflow_task import Constraints, WorkflowTask
from sssa.sources import SystemClock

PLANNER, SERVICE = Signer.from_uri("//Planner"), Signer.from_uri("//Service")
NONCE = hashlib.sha256(b"nonce").hexdigest()
ADDRESSES = {service: ServiceAddress("http://127.0.0.1:9", SERVICE.hotkey) for service in SERVICES}
GOALS = local_goals(ADDRESSES, WINDOWS)
THREE = GOALS["rag-3-of-supply-chain"]


def fields_of(step: Step) -> tuple[str, str, dict[str, Any], tuple[str, ...]]:
    return step.service, step.action, step.params, step.after


@pytest.mark.parametrize(
    ("goal", "last"),
    [
        ('Find what there is on "a b".', ("retrieval", "search", {"query": "a b", "count": 1}, ())),
        (
            'Find what there is on "a". Summarise it in 3 sentences.',
            ("text", "summarise", {"text": "${search-1.output.text}", "sentences": 3}, ("search-1",)),
        ),
        (
            'Find what there is on "a". Find what there is on "b". Join them.',
            (
                "text",
                "join",
                {"parts": ["${search-1.output.text}", "${search-2.output.text}"]},
                ("search-1", "search-2"),
            ),
        ),
        (
            'Find what there is on "a". List its 5 keywords.',
            ("text", "keywords", {"text": "${search-1.output.text}", "count": 5}, ("search-1",)),
        ),
        (
            'Find what there is on "a". Report it under "T".',
            ("text", "report", {"title": "T", "body": "${search-1.output.text}"}, ("search-1",)),
        ),
        ("Read the table.\n\na,b\n\n1,2\n", ("transform", "parse_table", {"text": "a,b\n\n1,2\n"}, ())),
        (
            'Read the table. Keep the rows whose "a" is "1".\n\na\n1\n',
            (
                "transform",
                "keep",
                {"rows": "${parse_table-1.output.data}", "field": "a", "value": "1"},
                ("parse_table-1",),
            ),
        ),
        (
            'Read the table. Total the "n" by "a".\n\na,n\nx,1\n',
            (
                "transform",
                "total",
                {"rows": "${parse_table-1.output.data}", "value": "n", "by": "a"},
                ("parse_table-1",),
            ),
        ),
        ('Write the function "f".', ("code", "write", {"name": "f"}, ())),
        ('Write the function "f". Tidy it.', ("code", "tidy", {"code": "${write-1.output.code}"}, ("write-1",))),
        (' WRITE the function "f" . ', ("code", "write", {"name": "f"}, ())),
    ],
)
def test_each_sentence_is_one_step(goal: str, last: tuple[object, ...]) -> None:
    steps = read_goal(goal)
    assert fields_of(steps[-1]) == last
    assert len(steps) == goal.partition("\n\n")[0].strip(" .").count(".") + 1


@pytest.mark.parametrize(
    ("goal", "fault"),
    [
        ("", "no sentence"),
        (" . ", "no sentence"),
        ("Do something.", "'Do something'"),
        ("Tidy it.", "something before it"),
        ("Summarise it in 2 sentences.", "something before it"),
        ("Join them.", "nothing to join"),
        ('Write the function "f". Join them.', "nothing to join"),
        ('Write the function "f". Summarise it in 0 sentences.', "0 sentences"),
        ('Write the function "f". Summarise it in 10 sentences.', "10 sentences"),
        ('Find what there is on "v1. 2".', "Find what there is"),
        ('Find what there is on "".', 'on ""'),
    ],
)
def test_what_is_not_written_in_it_cannot_be_read(goal: str, fault: str) -> None:
    with pytest.raises(UnreadableGoalError) as refused:
        read_goal(goal)
    assert fault in refused.value.detail


@given(
    st.text(max_size=60) | st.lists(st.sampled_from(["tidy it", "join them", "read the table", "\n\n"])).map(". ".join)
)
def test_no_text_crashes_the_reader(goal: str) -> None:
    try:
        steps = read_goal(goal)
    except UnreadableGoalError:
        return
    assert steps


@st.composite
def written_goals(draw: DrawFn) -> str:
    subjects = st.sampled_from(["sandboxing", "secrets", "supply chain"])
    sentences = [f'Find what there is on "{draw(subjects)}"' for _ in range(draw(st.integers(1, 4)))]
    if len(sentences) > 1:
        sentences.append("Join them")
    followers = ["Summarise it in 2 sentences", "List its 5 keywords", 'Report it under "R"']
    sentences += draw(st.lists(st.sampled_from(followers), max_size=8))
    return ". ".join(sentences) + "."


def goal_with(text: str) -> WorkflowGoal:
    tools = tuple(OfferedTool(a.service, a.name, a.cost_tao, a.seconds) for a in ACTIONS)
    return WorkflowGoal(text, "agent", 1, Constraints(1.0, 60.0, None), tools)


@given(written_goals(), st.sampled_from(sorted(set(HABITS) - {"confused"})))
def test_every_goal_makes_a_plan_that_can_be_run_whatever_the_habits(text: str, name: str) -> None:
    plan = plan_for(text, name)
    check_plan(plan)
    assert len(plan.nodes) <= 10
    assert plan.totals.estimated_cost == pytest.approx(sum(node.estimated_cost for node in plan.nodes))
    for node in plan.nodes:
        assert (node.service, node.action) in BY_NAME


@given(written_goals())
def test_the_confused_run_in_circles(text: str) -> None:
    with pytest.raises(PlanError):
        check_plan(plan_for(text, "confused"))


class _Plan(msgspec.Struct):
    nodes: Any
    edges: Any
    totals: Any


def plan_for(text: str, name: str) -> Any:
    return _Plan(*plan_steps(read_goal(text), goal_with(text), HABITS[name]))


def dispatch_of(task: WorkflowTask) -> bytes:
    return workflow_bodies("1", "t", NONCE, {"primary": Window(0.0, 5.0)}, task)["primary"]


def planned(task: WorkflowTask, name: str) -> bytes:
    planner = LocalPlanner(PLANNER, HABITS[name], frozenset(), SystemClock())
    return msgspec.json.encode(planner.plan(msgspec.json.decode(dispatch_of(task), type=WorkflowDispatch)))


@pytest.mark.parametrize("task", GOALS.values(), ids=lambda task: f"{task.type}-{task.required_steps}")
def test_plans_for_the_local_goals_pass_the_gates_except_the_confused(task: WorkflowTask) -> None:
    for name in HABITS:
        body = planned(task, name)
        if name == "confused":
            with pytest.raises(PlanError):
                parse_plan(body)
            continue
        plan = parse_plan(body)
        assert plan_validity(plan, task, NONCE, PLANNER.hotkey) is None
        assert len(plan.nodes) == task.required_steps - (name == "forgetful")
        wrong = plan_validity(plan, task, "0" * 64, PLANNER.hotkey)
        assert wrong is not None
        assert wrong[0] == Reason.VALIDITY_NONCE


def test_habits_show_in_the_plan() -> None:
    task = THREE
    plans = {name: parse_plan(planned(task, name)) for name in HABITS if name != "confused"}
    skilled = plans["skilled"]
    assert [node.error_handling.retry_count for node in skilled.nodes] == [1] * 5
    assert {node.error_handling.retry_count for node in plans["careful"].nodes} == {2}
    assert {node.error_handling.retry_count for node in plans["hasty"].nodes} == {0}
    assert plans["careful"].totals.estimated_cost == pytest.approx(1.5 * skilled.totals.estimated_cost)
    assert plans["lavish"].totals.estimated_cost > skilled.totals.estimated_cost
    assert any(node.action.endswith("_premium") for node in plans["lavish"].nodes)
    chain = ancestors(plans["serial"])
    assert [len(chain[node.id]) for node in plans["serial"].nodes] == [0, 1, 2, 3, 4]
    loose = ancestors(skilled)
    assert [len(loose[node.id]) for node in skilled.nodes] == [0, 0, 0, 3, 4]
    tools = {(tool.service, tool.action): tool for tool in goal_of(task).tools}
    for node in plans["hasty"].nodes:
        assert node.error_handling.timeout_seconds < tools[node.service, node.action].avg_latency_seconds


def test_a_forgetful_planner_does_not_forget_the_only_step() -> None:
    (node,), _, _ = plan_steps(read_goal('Write the function "f".'), goal_with("Tidy it."), HABITS["forgetful"])
    assert node.action == "write"


def test_a_goal_whose_tools_are_missing_still_gets_an_answer() -> None:
    bare = msgspec.structs.replace(goal_with("Tidy it."), tools=())
    nodes, _, _ = plan_steps(read_goal('Write the function "f".'), bare, HABITS["lavish"])
    assert [(node.service, node.action) for node in nodes] == [("code", "write")]
