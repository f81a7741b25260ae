"""What makes a plan a graph that can be run (SPEC 12, gate 2)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from validator.protocol import limits
from validator.protocol.canonical import NotCanonicalError, canonical_bytes
from validator.protocol.strict_json import SchemaError

NODE_ID: Final = r"[0-9A-Za-z_-]{1,64}"
_ID: Final = re.compile(NODE_ID)
_OPEN: Final = "${"
REFERENCE: Final = re.compile(rf"\$\{{({NODE_ID})\.output\.((?:text|code|data)(?:\.[0-9A-Za-z_-]{{1,64}}){{0,16}})\}}")


class PlanError(SchemaError):
    """Not a graph of steps that could be run."""


class Node(Protocol):
    """What the rules look at of a step."""

    @property
    def id(self) -> str:
        """The step's name."""

    @property
    def params(self) -> dict[str, Any]:
        """JSON with references to earlier outputs."""


class Edge(Protocol):
    """What the rules look at of an edge."""

    @property
    def source(self) -> str:
        """The step that comes first."""

    @property
    def target(self) -> str:
        """The step that waits."""


class Graph(Protocol):
    """What the rules look at of a plan."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The steps."""

    @property
    def edges(self) -> Sequence[Edge]:
        """The order."""


def check_plan(plan: Graph) -> None:
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


def ancestors(plan: Graph) -> dict[str, frozenset[str]]:
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


def _check_ids(nodes: Sequence[Node]) -> None:
    seen = set()
    for i, node in enumerate(nodes):
        if not node.id.strip():
            raise PlanError(f"blank - at `nodes[{i}].id`")
        if not _ID.fullmatch(node.id):
            raise PlanError(f"not 1 to 64 of 0-9 A-Z a-z _ - - at `nodes[{i}].id`")
        if node.id in seen:
            raise PlanError(f"used twice - at `nodes[{i}].id`")
        seen.add(node.id)


def _check_edges(plan: Graph) -> None:
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
