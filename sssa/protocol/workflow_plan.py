"""Requests and responses of `POST /v1/workflows` (SPEC 12, 13), and the rules of a plan that can be run (gate 2)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from sssa.protocol import limits
from sssa.protocol.answer import Id, Role, Seconds
from sssa.protocol.canonical import NotCanonicalError, canonical_bytes, digest
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import verify_document
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Description, Document, Hex32, Signature, Text
from sssa.protocol.strict_json import SchemaError, decode, require_room
from sssa.protocol.task import Window
from sssa.protocol.workflow_task import Constraints, Duration, Name, Tao, WorkflowTask, WorkflowType

NODE_ID: Final = r"[0-9A-Za-z_-]{1,64}"
_ID: Final = re.compile(NODE_ID)
_OPEN: Final = "${"
REFERENCE: Final = re.compile(rf"\$\{{({NODE_ID})\.output\.((?:text|code|data)(?:\.[0-9A-Za-z_-]{{1,64}}){{0,16}})\}}")


class PlanError(SchemaError):
    """Not a graph of steps that could be run."""


# What dispatches of workflows carry and plans repeat. A name of the wire, not of the version that scores the round:
# planners built against it continue when new rounds are scored by another version.
PLAN_SCORING_VERSION: Final = "1.0.0"


class OfferedTool(Document, frozen=True):
    """A tool as a miner sees it: where it is called is the validator's business."""

    service: Name
    action: Name
    avg_cost_tao: Tao
    avg_latency_seconds: Duration


class WorkflowGoal(Document, frozen=True):
    """A task as it is dispatched: everything a plan needs, nothing that the result is judged by."""

    goal: Description
    type: WorkflowType
    required_steps: int
    constraints: Constraints
    tools: tuple[OfferedTool, ...]


class WorkflowDispatch(Document, frozen=True):
    """The request body. `nonce` is per task; windows are the receiver's own role's."""

    round_id: Id
    task_id: Id
    skill_type: Literal["workflow"]
    role: Role
    t_min_s: Seconds
    deadline_s: Seconds
    nonce: Hex32
    scoring_version: Text
    goal_sha256: Hex32
    goal: WorkflowGoal


class PlanTask(Document, frozen=True):
    """Dispatch that the plan belongs to."""

    goal_sha256: Hex32
    nonce: Hex32


class ErrorHandling(Document, frozen=True):
    """Number of retries of a failed step, and timeout of one attempt."""

    retry_count: Annotated[int, Meta(ge=0, le=limits.MAX_RETRIES)]
    timeout_seconds: Annotated[float, Meta(gt=0, le=limits.MAX_STEP_TIMEOUT_S)]


class PlanNode(Document, frozen=True):
    """One step: an action of a service with its parameters, what it should take, and what to do when it fails."""

    id: Text
    service: Text
    action: Text
    params: dict[str, Any]
    estimated_cost: Tao
    estimated_latency: Duration
    error_handling: ErrorHandling


class PlanEdge(Document, frozen=True):
    """`target` starts after `source` has succeeded; `from` and `to` on the wire."""

    source: Text = msgspec.field(name="from")
    target: Text = msgspec.field(name="to")


class Totals(Document, frozen=True):
    """The miner's estimates for the whole run; the budget ceiling is at most 1.5 times the cost."""

    estimated_cost: Tao
    estimated_latency: Duration


class WorkflowPlan(Document, frozen=True):
    """A miner's plan: a directed acyclic graph of at most 10 steps. It takes the SSSA's place."""

    schema_version: Literal["1.0"]
    task: PlanTask
    nodes: tuple[PlanNode, ...]
    edges: tuple[PlanEdge, ...]
    totals: Totals
    scoring_version: Text
    signature: Signature


def check_plan(plan: WorkflowPlan) -> None:
    """Refuse what is no directed acyclic graph of 1 to 10 steps whose references point to their own past.

    Raises:
        PlanError: naming the field.
    """
    if not plan.nodes:
        raise PlanError("no nodes - at `nodes`")
    if len(plan.nodes) > limits.MAX_PLAN_NODES:
        raise PlanError(f"{len(plan.nodes)} nodes, at most {limits.MAX_PLAN_NODES} - at `nodes`")
    _check_ids(plan.nodes)
    _check_edges(plan)
    before = ancestors(plan)
    cyclic = next((i for i, node in enumerate(plan.nodes) if node.id in before[node.id]), None)
    if cyclic is not None:
        raise PlanError(f"on a cycle - at `nodes[{cyclic}]`")
    for i, node in enumerate(plan.nodes):
        _check_params(node.params, before[node.id], f"nodes[{i}].params")


def ancestors(plan: WorkflowPlan) -> dict[str, frozenset[str]]:
    """Return for each step the steps that come before it on any path; a step on a cycle comes before itself."""
    parents: dict[str, set[str]] = {node.id: set() for node in plan.nodes}
    for edge in plan.edges:
        parents[edge.target].add(edge.source)
    known = {node: frozenset(direct) for node, direct in parents.items()}
    for _ in plan.nodes:  # as many turns as the longest path can have steps
        known = {node: direct.union(*(known[parent] for parent in direct)) for node, direct in known.items()}
    return known


def strings(value: Any) -> Iterator[str]:
    """Yield every string value of plain JSON; keys are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def _check_ids(nodes: Sequence[PlanNode]) -> None:
    seen = set()
    for i, node in enumerate(nodes):
        if not node.id.strip():
            raise PlanError(f"blank - at `nodes[{i}].id`")
        if not _ID.fullmatch(node.id):
            raise PlanError(f"not 1 to 64 of 0-9 A-Z a-z _ - - at `nodes[{i}].id`")
        if node.id in seen:
            raise PlanError(f"used twice - at `nodes[{i}].id`")
        seen.add(node.id)


def _check_edges(plan: WorkflowPlan) -> None:
    ids = {node.id for node in plan.nodes}
    seen = set()
    for i, edge in enumerate(plan.edges):
        for end, name in ((edge.source, "from"), (edge.target, "to")):
            if end not in ids:
                raise PlanError(f"no such node - at `edges[{i}].{name}`")
        if edge.source == edge.target:
            raise PlanError(f"from a node to itself - at `edges[{i}]`")
        if (edge.source, edge.target) in seen:
            raise PlanError(f"listed twice - at `edges[{i}]`")
        seen.add((edge.source, edge.target))


def _check_params(params: dict[str, Any], before: frozenset[str], where: str) -> None:
    try:
        size = len(canonical_bytes(params))
    except NotCanonicalError as error:
        raise PlanError(f"{error.detail} - at `{where}`") from None
    if size > limits.MAX_PARAMS:
        raise PlanError(f"{size} bytes, at most {limits.MAX_PARAMS} - at `{where}`")
    for text in strings(params):
        references = REFERENCE.findall(text)
        if len(references) != text.count(_OPEN):
            raise PlanError(f"`${{` that does not begin a `${{node.output.text|code|data…}}` - at `{where}`")
        for node, _ in references:
            if node not in before:
                raise PlanError(f"a reference to a node that does not come before this one - at `{where}`")


def goal_of(task: WorkflowTask) -> WorkflowGoal:
    """Return the part of a task that is dispatched to miners."""
    return WorkflowGoal(
        goal=task.goal,
        type=task.type,
        required_steps=task.required_steps,
        constraints=task.constraints,
        tools=tuple(
            OfferedTool(tool.service, tool.action, tool.avg_cost_tao, tool.avg_latency_seconds) for tool in task.tools
        ),
    )


def goal_sha256(task: WorkflowTask) -> str:
    """Return what a plan is bound to: the sha256 of the dispatched goal's canonical bytes."""
    return digest(goal_of(task))


def workflow_bodies(
    round_id: str, task_id: str, nonce: str, windows: dict[Role, Window], task: WorkflowTask
) -> dict[Role, bytes]:
    """Return the body of `POST /v1/workflows` for each role; they differ in role and window only."""
    goal = goal_of(task)
    return {
        role: msgspec.json.encode(
            WorkflowDispatch(
                round_id=round_id,
                task_id=task_id,
                skill_type=SkillType.WORKFLOW.value,
                role=role,
                t_min_s=window.t_min,
                deadline_s=window.deadline,
                nonce=nonce,
                scoring_version=PLAN_SCORING_VERSION,
                goal_sha256=digest(goal),
                goal=goal,
            )
        )
        for role, window in windows.items()
    }


def parse_plan(data: bytes) -> WorkflowPlan:
    """Return the plan in `data` (gate 2).

    Raises:
        PlanError: a graph that could not be run; the text names the field.
        JsonError: not a plan of schema 1.0, or over a limit; the text names the field.
    """
    plan = decode(data, WorkflowPlan, limit=limits.MAX_PLAN_BODY, depth=limits.MAX_PLAN_DEPTH)
    check_plan(plan)
    require_room(plan, limits.MAX_PLAN)
    return plan


def plan_validity(plan: WorkflowPlan, task: WorkflowTask, nonce: str, hotkey: str) -> tuple[Reason, str] | None:
    """Return what gate 3 has against a parsed plan, with the field; None when nothing is."""
    if plan.task.goal_sha256 != goal_sha256(task):
        return Reason.VALIDITY_GOAL, "at `task.goal_sha256`"
    if plan.task.nonce != nonce:
        return Reason.VALIDITY_NONCE, "at `task.nonce`"
    if plan.scoring_version != PLAN_SCORING_VERSION:
        return Reason.VALIDITY_SCORING_VERSION, f"dispatched with {PLAN_SCORING_VERSION} - at `scoring_version`"
    for i, node in enumerate(plan.nodes):
        if task.tool(node.service, node.action) is None:
            return Reason.VALIDITY_SERVICE, f"{_why_not(node, task)} - at `nodes[{i}]`"
    if plan.signature.hotkey != hotkey:
        return Reason.VALIDITY_HOTKEY, "at `signature.hotkey`"
    return None if verify_document(plan, hotkey) else (Reason.VALIDITY_SIGNATURE, "at `signature.value`")


def _why_not(node: PlanNode, task: WorkflowTask) -> str:
    if node.service not in {tool.service for tool in task.tools}:
        return "unknown service"
    allowed = task.constraints.allowed_services
    if allowed is not None and node.service not in allowed:
        return "service not allowed"
    return "the service has no such action"
