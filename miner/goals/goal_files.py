"""The benchmark of goals, read from the package's own files: `VERSION/NAME.json`, a goal each.

A file is a `workflow.json` without windows, which names services in place of tools; the actions of these, their prices
and speeds are those of `miner.services.catalogue`. A version that was released does not change, so that what planners
reached in it can be compared; other goals are a new version. Its truth was written by
tests/golden/regenerate_goals.py, which shares no code with the step services.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from miner.services.catalogue import ACTIONS, Service, ServiceAddress
from sssa.protocol.task import Windows
from sssa.protocol.workflow_task import Tool, WorkflowTask, parse_workflow_task

BENCHMARK: Final = 1
_FOLDER: Final = Path(__file__).parent / str(BENCHMARK)


def local_goals(services: Mapping[Service, ServiceAddress], windows: Windows | None) -> dict[str, WorkflowTask]:
    """Return the benchmark's goals whose services are all there, by name; without windows those of the profile."""
    goals = {}
    for path in sorted(_FOLDER.glob("*.json")):
        goal = json.loads(path.read_bytes())
        wanted = goal.pop("services")
        if set(wanted) <= set(services):
            used = (one for one in ACTIONS if one.service in wanted)
            tools = [Tool(a.service, a.name, a.cost_tao, a.seconds, *services[a.service]) for a in used]
            document = msgspec.json.encode({**goal, "tools": tools, "windows": windows})
            goals[path.stem] = parse_workflow_task(document)
    return goals
