"""The benchmark's goals: what is in it, whose truth it is, what reaches it, and what is missed."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from builders import V1
from goals_kit import PLANNER, plan_of, run_here
from goals_written.files import files
from local_code import ADDRESSES as NOWHERE

from localnet.library import WINDOWS
from miner.goals import goal_files
from miner.goals.goal_files import BENCHMARK, local_goals
from miner.services.actions import FUNCTIONS
from miner.services.catalogue import BY_NAME, SERVICES, Service, ServiceAddress
from miner.services.service_server import StepService
from sssa.kinds.workflow.explanation import OutputQuality, explain_output
from sssa.protocol.canonical import digest
from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_run import StepOutput
from sssa.protocol.workflow_task import Reference, WorkflowTask, task_sha256
from sssa.scoring import measure, read_quality, result_of, score_workflow
from sssa.sources import SystemClock
from validator.kinds.workflow.executor import run_plan
from validator.kinds.workflow.http import HttpStepClient

VALIDATOR = Signer.from_uri("//Validator")
GOALS = local_goals(NOWHERE, WINDOWS)
READ = {name: task for name, task in GOALS.items() if task.type != "code"}
CODE = {name: task for name, task in GOALS.items() if task.type == "code"}


async def result_of_goal(name: str, planner: str = "skilled") -> StepOutput | None:
    plan = plan_of(GOALS[name], planner)
    return result_of(plan, await run_here(GOALS[name], plan))


def test_the_benchmark_is_what_was_written_from_sql_and_by_hand() -> None:
    """No truth comes from the functions that it judges: `goals_written` imports none of them."""
    folder = Path(goal_files.__file__).parent / str(BENCHMARK)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files()
    for module in [module for name, module in sys.modules.items() if name.startswith("goals_written")]:
        assert not {value.__module__ for value in vars(module).values() if callable(value)} & {
            action.perform.__module__ for action in BY_NAME.values()
        }


def test_at_least_forty_goals_of_all_types_differ_in_all_that_they_can() -> None:
    tasks = list(GOALS.values())
    assert len({task_sha256(task) for task in tasks}) == len({task.goal for task in tasks}) == len(tasks) >= 40
    kinds = Counter(task.type for task in tasks)
    assert min(kinds[kind] for kind in ("rag", "data_transform", "agent", "code")) >= 8
    assert {task.required_steps for task in tasks} >= set(range(2, 11)) - {8}
    assert {tool.service for task in tasks for tool in task.tools} == set(SERVICES)
    assert len({task.constraints.max_budget_tao for task in tasks}) > 10
    assert len({task.constraints.max_latency_seconds for task in tasks}) > 5
    assert len({len(task.tools) for task in tasks}) > 3
    assert any(task.constraints.allowed_services for task in tasks)
    assert max(len(task.goal) for task in tasks) > 1_000
    assert any(task.task_version == "1.1" for task in tasks)


@pytest.mark.parametrize("name", READ)
async def test_a_skilled_plan_reaches_a_goal_and_a_forgetful_one_does_not(name: str) -> None:
    task, scores = READ[name], {}
    for planner in ("skilled", "serial", "forgetful"):
        plan = plan_of(task, planner)
        record = await run_here(task, plan)
        assert {step.outcome for step in record.steps} == {Reason.STEP_SUCCEEDED}
        value = read_quality(task, result_of(plan, record))
        assert value is not None
        assert (value == 1.0) is (planner != "forgetful")
        assert planner == "forgetful" or len(plan.nodes) == task.required_steps
        scores[planner] = score_workflow(V1, measure(task, plan, record, value)).score
    assert 0.7 < scores["serial"] <= scores["skilled"]
    assert scores["forgetful"] < scores["serial"]


async def test_no_result_of_another_goal_and_none_at_all_reaches_a_goal() -> None:
    results = {name: await result_of_goal(name) for name in READ}
    for name, task in READ.items():
        met = {other for other, result in results.items() if read_quality(task, result) == 1.0}
        assert met == {name}
        assert read_quality(task, None) == 0.0


@pytest.mark.parametrize(
    ("planner", "why"), [("skilled", "the text of the reference"), ("forgetful", "not the reference's text")]
)
async def test_why_an_expected_text_was_met_or_not_is_told(planner: str, why: str) -> None:
    task = GOALS["data-longest-incident"]
    assert task.reference == Reference(expected_text="A4")
    plan = plan_of(task, planner)
    record = await run_here(task, plan)
    quality = read_quality(task, result_of(plan, record))
    submission = WorkflowSubmission("t", PLANNER.hotkey, "primary", 1.0, plan, digest(plan), record, quality)
    assert explain_output(V1, task, submission) == OutputQuality(float(planner == "skilled"), why, ())


async def test_the_dearest_plans_run_out_of_the_largest_goals_budgets() -> None:
    unaffordable = 0
    for task in READ.values():
        plan = plan_of(task, "lavish")
        if plan.totals.estimated_cost > task.constraints.max_budget_tao:
            unaffordable += 1
            assert Reason.STEP_BUDGET in {step.outcome for step in (await run_here(task, plan)).steps}
    assert unaffordable > 3


def outcomes(folder: Path, solutions: Mapping[str, tuple[str, str]]) -> Mapping[str, set[str]]:
    """Return how the tests of each (tests, solution) ended, by name: one run of pytest over all."""
    for name, (tests, code) in solutions.items():
        (folder / f"solution_{name}.py").write_text(code)
        (folder / f"test_{name}.py").write_text(tests.replace("from solution import", f"from solution_{name} import"))
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    told = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True, check=False).stdout
    found: dict[str, set[str]] = {name: set() for name in solutions}
    for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR) test_(\w+)\.py", told, re.MULTILINE):
        found[name].add(outcome)
    return found


async def test_the_tests_of_code_tell_right_from_wrong(tmp_path: Path) -> None:
    solutions: dict[str, tuple[str, str]] = {}
    for name, task in CODE.items():
        function, result = name.removeprefix("code-").replace("-", "_"), await result_of_goal(name)
        assert result is not None
        assert result.code == FUNCTIONS[function]
        assert read_quality(task, result) is None
        tests, nothing = task.reference.given("tests"), f"def {function}(*given):\n    return None\n"
        solutions |= {function: (tests, result.code), f"wrong_{function}": (tests, nothing)}
    for name, ended in outcomes(tmp_path, solutions).items():
        assert (ended == {"PASSED"}) is not name.startswith("wrong_"), name
        assert ended, name


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


@pytest.mark.parametrize("name", ["rag-memo", "data-best-customers", "agent-open-sales", "code-median"])
async def test_goals_of_every_type_are_reached_over_http(name: str) -> None:
    client = HttpStepClient(VALIDATOR, allow_private=True)
    async with flawless_services() as addresses:
        task: WorkflowTask = local_goals(addresses, WINDOWS)[name]
        plan = plan_of(task, "skilled")
        record = await run_plan(V1, task, plan, client, SystemClock(), run_id="run")
    await client.close()
    assert result_of(plan, record) == await result_of_goal(name)
    assert read_quality(task, result_of(plan, record)) == (None if task.type == "code" else 1.0)
