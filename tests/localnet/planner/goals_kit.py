"""Plans for the local goals, and running them without HTTP: the services' own functions on virtual time."""

import hashlib

import msgspec
from builders import V1
from local_code import LocalServices
from workflow_builders import on_virtual_time

from localnet.planner.planner_server import LocalPlanner
from localnet.planner.skills import HABITS
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Window
from sssa.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan, parse_plan, workflow_bodies
from sssa.protocol.workflow_run import RunRecord
from sssa.protocol.workflow_task import WorkflowTask
from sssa.sources import SystemClock, VirtualClock
from validator.kinds.workflow.executor import run_plan

PLANNER = Signer.from_uri("//Planner")
NONCE = hashlib.sha256(b"nonce").hexdigest()


def plan_of(task: WorkflowTask, name: str) -> WorkflowPlan:
    """Return what a planner of the local network makes of a task."""
    body = workflow_bodies("1", "t", NONCE, {"primary": Window(0.0, 5.0)}, task)["primary"]
    planner = LocalPlanner(PLANNER, HABITS[name], frozenset(), SystemClock())
    return parse_plan(msgspec.json.encode(planner.plan(msgspec.json.decode(body, type=WorkflowDispatch))))


async def run_here(task: WorkflowTask, plan: WorkflowPlan) -> RunRecord:
    """Run a plan without HTTP."""
    clock = VirtualClock()
    return await on_virtual_time(clock, run_plan(V1, task, plan, LocalServices(clock), clock, run_id="run"))
