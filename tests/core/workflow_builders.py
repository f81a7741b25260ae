"""Builders of workflow tasks and signed plans; tests bend them."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from validator.protocol.signatures import Signer
from validator.protocol.workflow_plan import PLAN_SCORING_VERSION, WorkflowPlan, goal_sha256
from validator.protocol.workflow_task import WorkflowTask

WORKFLOW_NONCE = hashlib.sha256(b"workflow nonce").hexdigest()
PLANNER = Signer.from_uri("//Planner")
SERVICE = Signer.from_uri("//Service")
REFERENCES: Mapping[str, dict[str, Any]] = {
    "code": {"tests": "from solution import f\n\n\ndef test_f():\n    assert f() == 1\n"},
    "rag": {"text": "The cat sat on the mat."},
    "agent": {
        "checklist": [
            {"type": "keyword", "value": "done"},
            {"type": "json_key", "value": "answer"},
            {"type": "regex", "value": "[0-9]{3}"},
        ]
    },
    "data_transform": {"expected": {"count": 2, "names": ["a", "b"]}},
}


def task_document(kind: str = "rag", **changes: Any) -> dict[str, Any]:
    """A valid `workflow.json`."""
    tools = [
        {
            "service": service,
            "action": action,
            "avg_cost_tao": 0.01,
            "avg_latency_seconds": 1.0,
            "url": f"http://127.0.0.1:9/{service}",
            "hotkey": SERVICE.hotkey,
        }
        for service, action in (("text", "summarize"), ("text", "merge"), ("retrieval", "search"), ("code", "write"))
    ]
    return {
        "task_version": "1.0",
        "goal": "Say where the cat sat.",
        "type": kind,
        "required_steps": 1,
        "constraints": {"max_budget_tao": 1.0, "max_latency_seconds": 60.0, "allowed_services": None},
        "tools": tools,
        "reference": dict(REFERENCES[kind]),
        "windows": None,
    } | changes


def make_workflow(kind: str = "rag", **changes: Any) -> WorkflowTask:
    return msgspec.convert(task_document(kind, **changes), WorkflowTask)


def step(name: str, params: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A node of a plan."""
    handling = {"retry_count": changes.pop("retries", 0), "timeout_seconds": changes.pop("timeout", 10.0)}
    return {
        "id": name,
        "service": "text",
        "action": "summarize",
        "params": params or {},
        "estimated_cost": 0.01,
        "estimated_latency": 1.0,
        "error_handling": handling,
    } | changes


def plan_document(
    task: WorkflowTask,
    nodes: Iterable[dict[str, Any]],
    edges: Iterable[tuple[str, str]] = (),
    **changes: Any,
) -> dict[str, Any]:
    """An unsigned plan."""
    steps = list(nodes)
    return {
        "schema_version": "1.0",
        "task": {"goal_sha256": goal_sha256(task), "nonce": WORKFLOW_NONCE},
        "nodes": steps,
        "edges": [{"from": source, "to": target} for source, target in edges],
        "totals": {
            "estimated_cost": sum((node["estimated_cost"] for node in steps), 0.0),
            "estimated_latency": sum((node["estimated_latency"] for node in steps), 0.0),
        },
        "scoring_version": PLAN_SCORING_VERSION,
        "signature": {"hotkey": PLANNER.hotkey, "crypto": "sr25519", "value": "0x" + "0" * 128},
    } | changes


def sign_plan(document: dict[str, Any], signer: Signer = PLANNER) -> WorkflowPlan:
    return signer.sign_document(msgspec.convert(document, WorkflowPlan))


def make_plan(
    task: WorkflowTask, nodes: Iterable[dict[str, Any]], edges: Iterable[tuple[str, str]] = (), **changes: Any
) -> WorkflowPlan:
    return sign_plan(plan_document(task, nodes, edges, **changes))
