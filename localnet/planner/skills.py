"""Planners of different skill: each makes its own plan of the same steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from localnet.planner.goal_parser import Step
from sssa.protocol.limits import MAX_PLAN_NODES
from sssa.protocol.workflow_plan import (
    ErrorHandling,
    OfferedTool,
    PlanEdge,
    PlanNode,
    Totals,
    WorkflowGoal,
)

_PREMIUM: Final = "_premium"


@dataclass(frozen=True, slots=True)
class Habits:
    """Behavior of a planner.

    Attributes:
        retries: declared for every step.
        patience: timeout of a step in multiples of the tool's average.
        margin: its estimates in multiples of the tool's averages.
        premium: whether it takes the dearer of two tools that do the same.
        serial: whether every step waits for the one before it.
        skips: how many of the last steps it leaves out.
        loops: whether its last step also comes before its first.
    """

    retries: int = 1
    patience: float = 6.0
    margin: float = 1.0
    premium: bool = False
    serial: bool = False
    skips: int = 0
    loops: bool = False


_SKILLED: Final = Habits()
HABITS: Final[dict[str, Habits]] = {
    "skilled": _SKILLED,
    "careful": replace(_SKILLED, retries=2, patience=10.0, margin=1.5),
    "lavish": replace(_SKILLED, premium=True),
    "serial": replace(_SKILLED, serial=True),
    "hasty": replace(_SKILLED, retries=0, patience=0.6),
    "forgetful": replace(_SKILLED, skips=1),
    "confused": replace(_SKILLED, loops=True),
}

Graph = tuple[tuple[PlanNode, ...], tuple[PlanEdge, ...], Totals]


def plan_steps(steps: Sequence[Step], goal: WorkflowGoal, habits: Habits) -> Graph:
    """Return nodes, edges and totals of the plan that a planner with these habits makes of the steps."""
    kept = list(steps[: max(1, len(steps) - habits.skips)])[:MAX_PLAN_NODES]
    tools = {step.id: _tool(step, goal, habits) for step in kept}
    nodes = tuple(_node(step, tools[step.id], habits) for step in kept)
    edges = [PlanEdge(before, step.id) for step in kept for before in step.after]
    if habits.serial:
        edges = [PlanEdge(a.id, b.id) for a, b in pairwise(kept)]
    if habits.loops:
        edges.append(PlanEdge(kept[-1].id, kept[0].id))
    cost = math.fsum(node.estimated_cost for node in nodes)
    return nodes, tuple(edges), Totals(cost, math.fsum(node.estimated_latency for node in nodes))


def _tool(step: Step, goal: WorkflowGoal, habits: Habits) -> OfferedTool:
    names = (step.action + _PREMIUM, step.action) if habits.premium else (step.action,)
    offered = {(tool.service, tool.action): tool for tool in goal.tools}
    tool = next((offered[step.service, name] for name in names if (step.service, name) in offered), None)
    # A goal whose tools lack what its words ask for: the validator will say so.
    return tool or OfferedTool(step.service, step.action, 0.0, 1.0)


def _node(step: Step, tool: OfferedTool, habits: Habits) -> PlanNode:
    return PlanNode(
        id=step.id,
        service=tool.service,
        action=tool.action,
        params=step.params,
        estimated_cost=tool.avg_cost_tao * habits.margin,
        estimated_latency=tool.avg_latency_seconds * habits.margin,
        error_handling=ErrorHandling(habits.retries, tool.avg_latency_seconds * habits.patience),
    )
