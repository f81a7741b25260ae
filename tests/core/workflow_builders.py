"""Workflow tasks and plans, and the services that a test scripts, on virtual time."""

import asyncio
import hashlib
import heapq
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from virtual_time import all_wait

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Signature
from sssa.protocol.workflow_plan import PLAN_SCORING_VERSION, WorkflowPlan, goal_sha256
from sssa.protocol.workflow_run import StepAnswer, StepOutput, StepRequest
from sssa.protocol.workflow_task import Tool, WorkflowTask
from sssa.sources import Clock, VirtualClock
from validator.kinds.workflow.step import StepReply
from validator.outgoing.stalls import StallsSince

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


T = TypeVar("T")
BLANK = Signature("", "sr25519", "0x" + "0" * 128)
FOREVER = 1e9
TEXT = StepOutput("text", None, None)


def signed_answer(
    body: bytes, output: StepOutput, cost: float = 0.01, *, signer: Signer = SERVICE, sha256: str | None = None
) -> bytes:
    """Return a service's signed answer to the request `body`."""
    return msgspec.json.encode(signer.sign_document(StepAnswer(sha256 or sha256_hex(body), output, cost, BLANK)))


@dataclass(frozen=True)
class Try:
    """One attempt of a scripted service: wait, then answer (or fail)."""

    seconds: float = 1.0
    cost: float = 0.01
    fault: Reason | None = None
    output: StepOutput = TEXT
    bend: Callable[[bytes], bytes] | None = None


@dataclass
class ScriptedServices:
    """A `StepClient`: for each node its tries, the last of which repeats."""

    clock: Clock
    script: Mapping[str, list[Try]]
    requests: list[StepRequest] = field(default_factory=list)
    open_now: int = 0

    async def call(self, tool: Tool, body: bytes, timeout_s: float, stalls: StallsSince) -> StepReply:
        request = msgspec.json.decode(body, type=StepRequest)
        self.requests.append(request)
        tries = self.script.get(request.node_id, [Try()])
        now = tries[min(request.attempt, len(tries)) - 1]
        self.open_now += 1
        try:
            await self.clock.sleep(now.seconds)
        finally:
            self.open_now -= 1
        if now.fault is not None:
            return StepReply(now.fault, b"", "scripted")
        answer = signed_answer(body, now.output, now.cost)
        return StepReply(None, now.bend(answer) if now.bend else answer)

    async def close(self) -> None:
        """Hold nothing."""


async def on_virtual_time(clock: VirtualClock, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; the clock jumps to the next live sleeper whenever nothing else can run."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await all_wait()
        sleepers = clock._sleepers
        while sleepers and sleepers[0][2].done():
            heapq.heappop(sleepers)
        if not task.done():
            if not sleepers:
                task.cancel()
                raise AssertionError("nobody is waiting for anything: a hang")
            await clock.advance(max(0.0, sleepers[0][0] - clock.monotonic()))
    return task.result()
