"""Plans on real services over HTTP, honest and not: each outcome is measured and scored as SPEC 12 says."""

import asyncio
from typing import Any

import pytest
from builders import V1
from step_services import VALIDATOR, Answer, Services, honest, response, step_client, task_at
from workflow_builders import make_plan, signed_answer, step

from sssa.protocol.limits import MAX_STEP_BODY
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_run import RunRecord, StepOutput, StepRequest, WorkflowRun
from sssa.scoring import measure, result_of, score_workflow
from sssa.sources import SystemClock
from validator.kinds.workflow.executor import run_plan
from validator.kinds.workflow.http import step_url
from validator.outgoing.addresses import CheckedResolver

OUTPUT = StepOutput("x", None, None)


async def run(script: dict[str, list[Answer]], nodes: list[dict[str, Any]]) -> tuple[RunRecord, WorkflowRun, Services]:
    """Run a plan without edges; quality 1."""
    services = Services(script)
    async with services.serving() as url, step_client() as client:
        task = task_at(url)
        plan = make_plan(task, nodes, totals={"estimated_cost": 1.0, "estimated_latency": 1.0})
        record = await run_plan(V1, task, plan, client, SystemClock(), run_id="run-1")
        return record, measure(task, plan, record, 1.0), services


def saying(body: bytes) -> Answer:
    async def answer(_: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(body)

    return answer


async def dies_at_once(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def dies_in_the_middle(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(response(signed_answer(body, OUTPUT))[:-20])
    await writer.drain()


async def never_begins(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def never_ends(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\n \r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def answers_another_request(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(response(signed_answer(body + b" ", OUTPUT)))


async def signs_with_another_key(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(response(signed_answer(body, OUTPUT, signer=Signer.from_uri("//Other"))))


async def changes_what_it_signed(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(response(signed_answer(body, OUTPUT).replace(b'"text":"x"', b'"text":"y"')))


async def answers_too_much(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(response(signed_answer(body, StepOutput("t" * 16_385, None, None))))


async def redirects(body: bytes, request: StepRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(response(b"", "307 Temporary Redirect", "Location: /base/v1/steps"))


async def test_a_plan_is_run_by_signed_requests_and_its_result_is_the_services() -> None:
    services = Services({"a": [honest("first", 0.003)], "b": [honest("second", 0.002)]})
    async with services.serving() as url, step_client() as client:
        task = task_at(url)
        plan = make_plan(task, [step("a"), step("b", {"text": "after ${a.output.text}"})], [("a", "b")])
        record = await run_plan(V1, task, plan, client, SystemClock(), run_id="run-1")
    assert result_of(plan, record) == StepOutput("second", None, None)
    assert [(request.node_id, request.params) for request in services.seen] == [
        ("a", {}),
        ("b", {"text": "after first"}),
    ]
    assert services.callers == [VALIDATOR.hotkey] * 2
    assert measure(task, plan, record, 1.0).actual_tao == 0.005


async def test_a_connection_that_breaks_before_the_answer_is_tried_once_more() -> None:
    record, measured, _ = await run({"a": [dies_at_once, honest()]}, [step("a")])
    assert [attempt.outcome for attempt in record.steps[0].attempts] == [
        Reason.STEP_CONNECTION,
        Reason.STEP_SUCCEEDED,
    ]
    assert (measured.actual_retries, measured.declared_retry_budget) == (1, 0)
    assert score_workflow(V1, measured).reliability == 0.9


async def test_a_service_that_is_not_there_is_tried_once_more_too() -> None:
    services = Services({})
    async with services.serving() as url:
        pass
    async with step_client() as client:
        task = task_at(url)
        record = await run_plan(V1, task, make_plan(task, [step("a")]), client, SystemClock(), run_id="r")
    assert [attempt.outcome for attempt in record.steps[0].attempts] == [Reason.STEP_CONNECTION] * 2


FAULTS: dict[str, tuple[Answer, Reason]] = {
    "dies in the middle": (dies_in_the_middle, Reason.STEP_TRANSPORT),
    "speaks no HTTP": (saying(b"hello\r\n\r\n"), Reason.STEP_TRANSPORT),
    "an error": (saying(response(b"{}", "500 Internal Server Error")), Reason.STEP_STATUS),
    "a redirect": (redirects, Reason.STEP_STATUS),
    "too many bytes": (saying(response(b" " * (MAX_STEP_BODY + 1))), Reason.STEP_TOO_LARGE),
    "no answer": (saying(response(b'{"output": 1}')), Reason.STEP_SCHEMA),
    "compressed": (saying(response(b"\x1f\x8b\x08", "200 OK", "Content-Encoding: gzip")), Reason.STEP_SCHEMA),
    "too much text": (answers_too_much, Reason.STEP_SCHEMA),
    "for another request": (answers_another_request, Reason.STEP_OTHER_REQUEST),
    "signed by another": (signs_with_another_key, Reason.STEP_SIGNATURE),
    "changed after signing": (changes_what_it_signed, Reason.STEP_SIGNATURE),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_an_answer_that_is_none_fails_the_step_and_costs_nothing(name: str) -> None:
    answer, reason = FAULTS[name]
    record, measured, services = await run({"a": [answer]}, [step("a"), step("b")])
    [attempt] = record.steps[0].attempts
    assert attempt.outcome == reason
    assert (record.steps[0].output, attempt.cost_tao) == (None, 0.0)
    assert record.steps[1].completed
    assert (measured.hard_failures, measured.timeouts, measured.steps_completed) == (1, 0, 1)
    assert score_workflow(V1, measured).success == 0.5
    assert score_workflow(V1, measured).reliability == 0.5
    assert len(services.seen) == 2


@pytest.mark.parametrize("answer", [never_begins, never_ends])
async def test_a_service_that_never_ends_is_cut_off_at_the_declared_limit(answer: Answer) -> None:
    record, measured, _ = await run({"a": [answer, honest()]}, [step("a", timeout=0.3, retries=1)])
    first, second = record.steps[0].attempts
    assert (first.outcome, second.outcome) == (Reason.STEP_TIMEOUT, Reason.STEP_SUCCEEDED)
    assert first.ended - first.started >= 0.3
    assert (measured.timeouts, measured.actual_retries, measured.hard_failures) == (1, 1, 0)
    assert score_workflow(V1, measured).reliability == 0.8


async def test_a_service_that_overcharges_is_refused_and_capped() -> None:
    record, measured, services = await run({"a": [honest(cost=0.9)]}, [step("a", estimated_cost=0.2)])
    [attempt] = record.steps[0].attempts
    assert services.seen[0].max_cost_tao == 0.2
    assert (attempt.outcome, attempt.charged_tao, attempt.cost_tao) == (Reason.STEP_OVERCHARGED, 0.9, 0.2)
    assert (measured.actual_tao, measured.hard_failures) == (0.2, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_private_addresses_are_called_only_where_they_are_allowed(host: str) -> None:
    services = Services({})
    async with services.serving() as url, step_client(allow_private=False) as client:
        task = task_at(url.replace("127.0.0.1", host))
        record = await run_plan(V1, task, make_plan(task, [step("a")]), client, SystemClock(), run_id="r")
    assert record.steps[0].outcome == Reason.STEP_CONNECTION
    assert services.seen == []


async def test_a_name_is_looked_up() -> None:
    services = Services({})
    async with services.serving() as url, step_client() as client:
        task = task_at(url.replace("127.0.0.1", "localhost"))
        record = await run_plan(V1, task, make_plan(task, [step("a")]), client, SystemClock(), run_id="r")
    assert record.steps[0].completed
    assert await CheckedResolver(allow_private=True).resolve("localhost", 80)
    with pytest.raises(OSError, match="may be called"):
        await CheckedResolver(allow_private=False).resolve("localhost", 80)


def test_steps_are_sent_below_the_tools_url() -> None:
    assert str(step_url("https://services.example/text/")) == "https://services.example/text/v1/steps"
