"""Workflow tasks, what is dispatched of them, and plans with every reason for which one is refused."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from workflow_builders import (
    PLANNER,
    WORKFLOW_NONCE,
    make_plan,
    make_workflow,
    plan_document,
    sign_plan,
    step,
    task_document,
)

from sssa.protocol import limits
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.strict_json import JsonError, TooDeepError, TooLargeError
from sssa.protocol.workflow_plan import (
    PlanError,
    WorkflowDispatch,
    ancestors,
    goal_of,
    goal_sha256,
    parse_plan,
    plan_validity,
    workflow_bodies,
)
from sssa.protocol.workflow_task import parse_workflow_task, task_sha256

KINDS = ("code", "rag", "agent", "data_transform")
Bend = Callable[[dict[str, Any]], object]


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_is_read_and_dispatched_without_what_it_is_judged_by(kind: str) -> None:
    document = task_document(kind)
    task = parse_workflow_task(encoded(document))
    windows = {"primary": V1.rules.workflow.windows.of("primary"), "auditor": V1.rules.workflow.windows.of("auditor")}
    bodies = workflow_bodies("3", "t1", WORKFLOW_NONCE, windows, task)  # type: ignore[arg-type]
    for role, body in bodies.items():
        dispatch = msgspec.json.decode(body, type=WorkflowDispatch)
        assert (dispatch.role, dispatch.t_min_s, dispatch.deadline_s) == (role, 0, 30)
        assert dispatch.goal == goal_of(task)
        assert dispatch.goal_sha256 == sha256_hex(canonical_bytes(json.loads(body)["goal"]))
        assert b"reference" not in body
        for secret in map(json.dumps, document["reference"].values()):
            assert secret.encode() not in body
        assert b"127.0.0.1" not in body


def test_a_tasks_identity_is_its_document_not_its_spelling() -> None:
    document = task_document()
    spelled = json.dumps(document, indent=4, sort_keys=True).encode()
    task = parse_workflow_task(encoded(document))
    assert task_sha256(task) == task_sha256(parse_workflow_task(spelled))
    other = task_document(reference={"text": "Another reference."})
    assert task_sha256(task) != task_sha256(parse_workflow_task(encoded(other)))
    assert goal_sha256(task) == goal_sha256(parse_workflow_task(encoded(other)))


def test_a_text_that_is_expected_is_of_version_1_1_and_not_blank() -> None:
    document = task_document("data_transform", reference={"expected_text": "north"}) | {"task_version": "1.1"}
    assert parse_workflow_task(encoded(document)).reference.expected_text == "north"
    document["reference"] = {"expected_text": " \u00a0\n"}
    with pytest.raises(JsonError, match="blank: says nothing about a result"):
        parse_workflow_task(encoded(document))
    assert parse_workflow_task(encoded(task_document() | {"task_version": "1.1"})).type == "rag"


def deep(*path: Any, value: Any) -> Bend:
    def bend(document: dict[str, Any]) -> None:
        at: Any = document
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return bend


BAD_TASKS: dict[str, tuple[str, Bend, str]] = {
    "an unknown field": ("rag", deep("more", value=1), "unknown field"),
    "no tools": ("rag", deep("tools", value=[]), "$.tools"),
    "a blank goal": ("rag", deep("goal", value=" "), "`goal`"),
    "no required steps": ("rag", deep("required_steps", value=0), "$.required_steps"),
    "more required steps than a plan may have": ("rag", deep("required_steps", value=11), "$.required_steps"),
    "no budget": ("rag", deep("constraints", "max_budget_tao", value=0), "$.constraints.max_budget_tao"),
    "no time": ("rag", deep("constraints", "max_latency_seconds", value=-1), "$.constraints.max_latency_seconds"),
    "nothing allowed": ("rag", deep("constraints", "allowed_services", value=[]), "$.constraints.allowed_services"),
    "a service nobody offers": (
        "rag",
        deep("constraints", "allowed_services", value=["text", "nobody"]),
        "`constraints.allowed_services[1]`",
    ),
    "a negative average": ("rag", deep("tools", 0, "avg_cost_tao", value=-1), "$.tools[0].avg_cost_tao"),
    "an action twice": ("rag", lambda document: document["tools"].append(document["tools"][0]), "`tools[4]`"),
    "no url": ("rag", deep("tools", 0, "url", value="ftp://example.org/"), "`tools[0].url`"),
    "a url with a password": ("rag", deep("tools", 1, "url", value="http://a:b@example.org/"), "`tools[1].url`"),
    "a url with a bad port": ("rag", deep("tools", 1, "url", value="http://example.org:99999/"), "`tools[1].url`"),
    "no hotkey": ("rag", deep("tools", 0, "hotkey", value="somebody"), "`tools[0].hotkey`"),
    "another type's reference": ("code", deep("reference", value={"text": "x"}), "`reference.tests`"),
    "two references": ("rag", deep("reference", "tests", value="def test_x(): pass"), "`reference.tests`"),
    "no tests": ("code", deep("reference", "tests", value="x = 1"), "`reference.tests`"),
    "a text without words": ("rag", deep("reference", "text", value=" …! "), "`reference.text`"),
    "an empty checklist": ("agent", deep("reference", "checklist", value=[]), "`reference.checklist`"),
    "an empty keyword": ("agent", deep("reference", "checklist", 0, "value", value=""), "checklist[0].value`"),
    "a blank key": ("agent", deep("reference", "checklist", 1, "value", value=" "), "checklist[1].value`"),
    "a pattern that is none": ("agent", deep("reference", "checklist", 2, "value", value="("), "checklist[2].value`"),
    "a backreference": ("agent", deep("reference", "checklist", 2, "value", value=r"(a)\1"), "not an RE2 pattern"),
    "a pattern too large": ("agent", deep("reference", "checklist", 2, "value", value="((a{99}){99}){9}"), "RE2"),
    "a pattern that nothing misses": ("agent", deep("reference", "checklist", 2, "value", value="x*"), "cannot be"),
    "an anchor alone": ("agent", deep("reference", "checklist", 2, "value", value="^"), "cannot be missed"),
    "a criterion twice": (
        "agent",
        lambda document: document["reference"]["checklist"].append(document["reference"]["checklist"][0]),
        "checklist[3].value`",
    ),
    "nothing expected": ("data_transform", deep("reference", "expected", value={}), "`reference.expected`"),
    "null expected": ("data_transform", deep("reference", "expected", value=None), "`reference.expected`"),
    "an integer too large": ("data_transform", deep("reference", "expected", value=2**60), "`reference.expected`"),
    "too much expected": ("data_transform", deep("reference", "expected", value="x" * 20_000), "at most 16384"),
    "two forms of what is expected": ("data_transform", deep("reference", "expected_text", value="x"), "only one of"),
    "a text of version 1.0": ("data_transform", deep("reference", value={"expected_text": "x"}), "say 1.1"),
    "windows without time": (
        "rag",
        deep("windows", value={"primary": [5, 5], "auditor": [0, 5]}),
        "`windows.primary`",
    ),
}


@pytest.mark.parametrize("name", BAD_TASKS)
def test_a_task_that_cannot_be_met_or_cannot_be_missed_is_refused(name: str) -> None:
    kind, bend, said = BAD_TASKS[name]
    document = json.loads(json.dumps(task_document(kind)))
    parse_workflow_task(encoded(document))
    bend(document)
    with pytest.raises(JsonError) as refused:
        parse_workflow_task(encoded(document))
    assert said in str(refused.value)


TASK = make_workflow()


def small(**changes: Any) -> dict[str, Any]:
    """A plan of three steps, the last of which reads the first one's output."""
    reader = step("c", {"text": "${a.output.text}", "of": ["${b.output.data.items.0}"]})
    return plan_document(TASK, [step("a"), step("b"), reader], [("a", "b"), ("b", "c")], **changes)


def bad_node(**changes: Any) -> Bend:
    return lambda plan: plan["nodes"][1].update(changes)


def more_edges(*edges: tuple[str, str]) -> Bend:
    return lambda plan: plan["edges"].extend({"from": source, "to": target} for source, target in edges)


BAD_PLANS: dict[str, tuple[Bend, type[JsonError], str]] = {
    "no nodes": (lambda plan: plan.update(nodes=[], edges=[]), PlanError, "no nodes - at `nodes`"),
    "eleven nodes": (
        lambda plan: plan.update(nodes=[step(str(i)) for i in range(11)], edges=[]),
        PlanError,
        "11 nodes, at most 10 - at `nodes`",
    ),
    "a duplicate id": (bad_node(id="a"), PlanError, "used twice - at `nodes[1].id`"),
    "a blank id": (bad_node(id=" "), PlanError, "blank - at `nodes[1].id`"),
    "an id that is none": (bad_node(id="b.c"), PlanError, "`nodes[1].id`"),
    "an edge to nowhere": (more_edges(("a", "z")), PlanError, "no such node - at `edges[2].to`"),
    "an edge from nowhere": (more_edges(("z", "a")), PlanError, "no such node - at `edges[2].from`"),
    "a self-loop": (more_edges(("a", "a")), PlanError, "from a node to itself - at `edges[2]`"),
    "a cycle": (more_edges(("c", "a")), PlanError, "on a cycle - at `nodes[0]`"),
    "a duplicate edge": (more_edges(("a", "b")), PlanError, "listed twice - at `edges[2]`"),
    "a reference to what comes later": (
        bad_node(params={"x": ["${c.output.text}"]}),
        PlanError,
        "does not come before this one - at `nodes[1].params`",
    ),
    "a reference to itself": (bad_node(params={"x": "${b.output.text}"}), PlanError, "does not come before"),
    "a reference to nobody": (bad_node(params={"x": "${z.output.text}"}), PlanError, "does not come before"),
    "half a reference": (bad_node(params={"x": "${a.output"}), PlanError, "that does not begin"),
    "a reference to no output": (bad_node(params={"x": "${a.output.cost}"}), PlanError, "that does not begin"),
    "params too large": (bad_node(params={"x": "y" * 20_000}), PlanError, "at most 16384 - at `nodes[1].params`"),
    "an integer too large": (bad_node(params={"x": 2**60}), PlanError, "`nodes[1].params`"),
    "a negative cost": (bad_node(estimated_cost=-0.1), JsonError, "$.nodes[1].estimated_cost"),
    "a negative latency": (bad_node(estimated_latency=-0.1), JsonError, "$.nodes[1].estimated_latency"),
    "a negative total": (
        lambda plan: plan["totals"].update(estimated_cost=-1),
        JsonError,
        "$.totals.estimated_cost",
    ),
    "NaN": (bad_node(estimated_cost=float("nan")), JsonError, "JSON is malformed"),
    "an infinity": (bad_node(estimated_cost=float("inf")), JsonError, "JSON is malformed"),
    "a negative retry count": (
        bad_node(error_handling={"retry_count": -1, "timeout_seconds": 1}),
        JsonError,
        "retry_count",
    ),
    "no time": (bad_node(error_handling={"retry_count": 0, "timeout_seconds": 0}), JsonError, "timeout_seconds"),
    "an unknown field": (bad_node(subnet=1), JsonError, "unknown field"),
    "another schema": (lambda plan: plan.update(schema_version="2.0"), JsonError, "$.schema_version"),
    "params too deep": (
        bad_node(params={"x": json.loads("[" * 20 + "]" * 20)}),
        TooDeepError,
        "more than 16 levels",
    ),
    "a body too large": (lambda plan: plan.update(pad="x" * limits.MAX_PLAN_BODY), TooLargeError, "at most 262144"),
}


@pytest.mark.parametrize("name", BAD_PLANS)
def test_a_plan_that_is_none_fails_gate_2_with_its_field(name: str) -> None:
    bend, kind, said = BAD_PLANS[name]
    plan = small()
    parse_plan(encoded(plan))
    bend(plan)
    with pytest.raises(kind) as refused:
        parse_plan(encoded(plan))
    assert said in str(refused.value)


def test_a_number_that_overflows_is_refused() -> None:
    body = encoded(small()).replace(b'"estimated_cost": 0.01', b'"estimated_cost": 1e999', 1)
    with pytest.raises(JsonError):
        parse_plan(body)


ONLY_RETRIEVAL = make_workflow(
    constraints={"max_budget_tao": 1.0, "max_latency_seconds": 60.0, "allowed_services": ["retrieval"]}
)


def test_a_plan_for_the_dispatch_passes_gate_3() -> None:
    plan = make_plan(TASK, [step("a")])
    again = parse_plan(msgspec.json.encode(plan))
    assert again == plan
    assert plan_validity(again, TASK, WORKFLOW_NONCE, PLANNER.hotkey) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task": {"goal_sha256": "0" * 64, "nonce": WORKFLOW_NONCE}}, Reason.VALIDITY_GOAL),
        ({"task": {"goal_sha256": goal_sha256(TASK), "nonce": "0" * 64}}, Reason.VALIDITY_NONCE),
        ({"scoring_version": "0.9.0"}, Reason.VALIDITY_SCORING_VERSION),
        ({"nodes": [step("a", service="nobody")]}, Reason.VALIDITY_SERVICE),
        ({"nodes": [step("a", action="dance")]}, Reason.VALIDITY_SERVICE),
    ],
)
def test_what_was_not_dispatched_fails_gate_3(changes: dict[str, Any], reason: Reason) -> None:
    plan = sign_plan(plan_document(TASK, [step("a")]) | changes)
    found = plan_validity(plan, TASK, WORKFLOW_NONCE, PLANNER.hotkey)
    assert found is not None
    assert found[0] == reason
    assert reason.gate == 3


def test_a_service_that_is_not_allowed_fails_gate_3() -> None:
    plan = make_plan(ONLY_RETRIEVAL, [step("a")])
    found = plan_validity(plan, ONLY_RETRIEVAL, WORKFLOW_NONCE, PLANNER.hotkey)
    assert found == (Reason.VALIDITY_SERVICE, "service not allowed - at `nodes[0]`")


def test_a_signature_has_to_be_the_miners_over_this_plan() -> None:
    plan = make_plan(TASK, [step("a")])
    other = Signer.from_uri("//Other").sign_document(plan)
    assert plan_validity(other, TASK, WORKFLOW_NONCE, PLANNER.hotkey) == (
        Reason.VALIDITY_HOTKEY,
        "at `signature.hotkey`",
    )
    bent = msgspec.structs.replace(plan, totals=msgspec.structs.replace(plan.totals, estimated_cost=0.5))
    found = plan_validity(bent, TASK, WORKFLOW_NONCE, PLANNER.hotkey)
    assert found == (Reason.VALIDITY_SIGNATURE, "at `signature.value`")


@given(st.integers(1, 10), st.data())
def test_ancestors_are_all_that_can_be_reached_backwards(count: int, data: st.DataObject) -> None:
    pairs = [(str(i), str(j)) for i in range(count) for j in range(i + 1, count)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    plan = make_plan(TASK, [step(str(i)) for i in range(count)], edges)

    def reach(node: str) -> set[str]:
        direct = {source for source, target in edges if target == node}
        return direct.union(*(reach(source) for source in direct))

    assert ancestors(plan) == {str(i): reach(str(i)) for i in range(count)}


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_answer_makes_the_parser_do_anything_but_refuse(value: Any) -> None:
    with pytest.raises(JsonError):
        parse_plan(json.dumps(value).encode())
