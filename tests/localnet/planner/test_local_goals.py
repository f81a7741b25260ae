"""The eight local goals against the four local services: what can be reached, and what is missed."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec
import pytest
from builders import V1

from localnet.goals import local_goals
from localnet.library import WINDOWS
from localnet.planner.server import LocalPlanner
from localnet.planner.skills import HABITS
from localnet.services.catalogue import SERVICES, Service, ServiceAddress
from localnet.services.server import StepService
from validator.kinds.workflow.executor import run_plan
from validator.kinds.workflow.http import HttpStepClient
from validator.kinds.workflow.quality import judge_output
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.protocol.task import Window
from validator.protocol.workflow_plan import WorkflowDispatch, WorkflowPlan, parse_plan, workflow_bodies
from validator.protocol.workflow_run import RunRecord
from validator.protocol.workflow_task import WorkflowTask, check_workflow_task, task_sha256
from validator.sources import SystemClock

VALIDATOR, PLANNER = Signer.from_uri("//Validator"), Signer.from_uri("//Planner")
NONCE = hashlib.sha256(b"nonce").hexdigest()
NOWHERE = {service: ServiceAddress("http://127.0.0.1:9", VALIDATOR.hotkey) for service in SERVICES}


@asynccontextmanager
async def flawless_services() -> AsyncIterator[Mapping[Service, ServiceAddress]]:
    """All four, without faults."""
    services: dict[Service, StepService] = {
        name: StepService(name, Signer.from_uri(f"//{name}"), {VALIDATOR.hotkey}, SystemClock()) for name in SERVICES
    }
    try:
        yield {name: ServiceAddress(await service.start(), service.hotkey) for name, service in services.items()}
    finally:
        for service in services.values():
            await service.close()


def plan_of(task: WorkflowTask, name: str) -> WorkflowPlan:
    body = workflow_bodies("1", "t", NONCE, {"primary": Window(0.0, 5.0)}, task)["primary"]
    planner = LocalPlanner(PLANNER, HABITS[name], frozenset(), SystemClock())
    return parse_plan(msgspec.json.encode(planner.plan(msgspec.json.decode(body, type=WorkflowDispatch))))


async def run(task: WorkflowTask, plan: WorkflowPlan) -> RunRecord:
    client = HttpStepClient(VALIDATOR, allow_private=True)
    try:
        return await run_plan(V1, task, plan, client, SystemClock(), run_id="run")
    finally:
        await client.close()


def test_there_are_eight_different_goals_of_every_type() -> None:
    goals = local_goals(NOWHERE, WINDOWS)
    assert len({task_sha256(task) for task in goals}) == len(goals) == 8
    assert {task.type for task in goals} == {"rag", "data_transform", "agent", "code"}
    for task in goals:
        check_workflow_task(task)


@pytest.mark.parametrize("number", range(8))
async def test_a_skilled_plan_reaches_a_goal_and_a_forgetful_one_does_not(number: int) -> None:
    async with flawless_services() as addresses:
        task = local_goals(addresses, WINDOWS)[number]
        plans = {name: plan_of(task, name) for name in ("skilled", "lavish", "serial", "forgetful")}
        runs = {name: await run(task, plan) for name, plan in plans.items()}
    scores = {}
    for name, record in runs.items():
        affordable = plans[name].totals.estimated_cost <= task.constraints.max_budget_tao
        assert affordable or name == "lavish"
        assert {step.outcome for step in record.steps if step.outcome != Reason.STEP_SUCCEEDED} == (
            set() if affordable else {Reason.STEP_BUDGET}
        )
        output = V1.result_of(plans[name], record)
        quality = judge_output(V1, task, output)
        if task.type == "code":
            assert quality.reason == Reason.QUALITY_DEFERRED
            assert output is not None
            assert output.code is not None
            continue
        value = V1.read_quality(task, output)
        assert value is not None
        assert value == quality.value
        if name == "forgetful" or not affordable:
            assert value < 1
        else:
            assert value == 1.0
        scores[name] = V1.score_workflow(V1.measure(task, plans[name], record, value)).score
    if scores:
        assert scores["forgetful"] < min(scores[name] for name in ("skilled", "serial"))


def test_no_reference_is_met_by_nothing_at_all() -> None:
    for task in local_goals(NOWHERE, WINDOWS):
        if task.type != "code":
            assert V1.read_quality(task, None) == 0.0
