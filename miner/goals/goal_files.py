"""The benchmark of goals, read from the package's own files: `VERSION/NAME.json`, a goal each.

A version that was released does not change, so that what planners reached in it can be compared; other goals are a new
version. Its truth was written by tests/golden/regenerate_goals.py, which shares no code with the step services.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta

from miner.services.catalogue import ACTIONS, Service, ServiceAddress
from validator.protocol.limits import MAX_TASK_BODY
from validator.protocol.sssa import Description, Document
from validator.protocol.strict_json import decode
from validator.protocol.task import Windows
from validator.protocol.workflow_task import (
    Constraints,
    Reference,
    Tool,
    WorkflowTask,
    WorkflowType,
    check_workflow_task,
)

BENCHMARK: Final = 1
_FOLDER: Final = Path(__file__).parent / str(BENCHMARK)


class BenchmarkGoal(Document, frozen=True):
    """One file: a `workflow.json` without windows, which names services in place of tools.

    Attributes:
        services: whose actions it offers, at the prices and speeds of `miner.services.catalogue`.
    """

    task_version: Literal["1.0", "1.1"]
    goal: Description
    type: WorkflowType
    required_steps: int
    constraints: Constraints
    services: Annotated[tuple[Service, ...], Meta(min_length=1)]
    reference: Reference


def local_goals(services: Mapping[Service, ServiceAddress], windows: Windows | None) -> dict[str, WorkflowTask]:
    """Return the benchmark's goals whose services are all there, by name; without windows those of the profile."""
    found = {}
    for path in sorted(_FOLDER.glob("*.json")):
        goal = decode(path.read_bytes(), BenchmarkGoal, limit=MAX_TASK_BODY)
        if set(goal.services) <= set(services):
            found[path.stem] = _task(goal, services, windows)
            check_workflow_task(found[path.stem])
    return found


def _task(goal: BenchmarkGoal, services: Mapping[Service, ServiceAddress], windows: Windows | None) -> WorkflowTask:
    tools = tuple(
        Tool(action.service, action.name, action.cost_tao, action.seconds, *services[action.service])
        for action in ACTIONS
        if action.service in goal.services
    )
    return WorkflowTask(
        task_version=goal.task_version,
        goal=goal.goal,
        type=goal.type,
        required_steps=goal.required_steps,
        constraints=goal.constraints,
        tools=tools,
        reference=goal.reference,
        windows=windows,
    )
