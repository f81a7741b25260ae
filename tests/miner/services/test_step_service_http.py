"""The local step services as the validator calls them: over HTTP, with signatures."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec
import pytest
from bittensor import http_auth

from miner.services.service_server import Fault, LocalServices, StepService, fault_of
from sssa.protocol.limits import MAX_STEP_TEXT, MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_run import StepOutput, StepRequest
from sssa.protocol.workflow_task import Tool
from sssa.sources import SystemClock
from validator.kinds.workflow.http import HttpStepClient
from validator.kinds.workflow.step import StepReply, judge_answer

VALIDATOR, STRANGER, SERVICE = (Signer.from_uri(uri) for uri in ("//Validator", "//Stranger", "//Service"))
PATH = "/v1/steps"


class Running(NamedTuple):
    """A text service that listens."""

    url: str
    hotkey: str

    def headers(self, body: bytes, signer: Signer = VALIDATOR, **changes: Any) -> dict[str, str]:
        """Return headers with a valid signature of the request."""
        named = {"method": "POST", "path": PATH, "receiver_ss58": self.hotkey} | changes
        return http_auth.sign(signer.keypair, body=body, **named)

    async def post(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send it."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url + PATH, data=io.BytesIO(body), headers=headers) as reply,
        ):
            return reply.status, await reply.read()

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        """Send it signed."""
        return await self.post(body, self.headers(body))

    def tool(self, action: str = "join") -> Tool:
        """Return a tool as a task names it."""
        return Tool("text", action, 0.001, 0.05, self.url, self.hotkey)


@asynccontextmanager
async def running(seed: str | None = None) -> AsyncIterator[Running]:
    service = StepService("text", SERVICE, {VALIDATOR.hotkey}, SystemClock(), seed)
    try:
        yield Running(await service.start(), service.hotkey)
    finally:
        await service.close()


def body_of(**changes: Any) -> bytes:
    document = {
        "run_id": "run",
        "node_id": "node",
        "attempt": 1,
        "service": "text",
        "action": "join",
        "params": {"parts": ["a", "b"]},
        "max_cost_tao": 0.01,
        "timeout_seconds": 1.0,
    }
    return msgspec.json.encode(document | changes)


async def test_a_step_is_done_charged_and_signed_for_this_request() -> None:
    async with running() as service:
        body = body_of()
        status, answer = await service.ask(body)
    assert status == 200
    judged = judge_answer(answer, body, service.hotkey, 0.01)
    assert judged.outcome == Reason.STEP_SUCCEEDED
    assert judged.answer is not None
    assert (judged.answer.output, judged.answer.cost_tao) == (StepOutput("a b", None, None), 0.001)


async def test_a_request_is_answered_once() -> None:
    async with running() as service:
        signed = service.headers(body_of())
        assert (await service.post(body_of(), signed))[0] == 200
        assert (await service.post(body_of(), signed))[0] == 401


async def test_strangers_and_what_is_not_meant_for_it_are_turned_away() -> None:
    body = body_of()
    async with running() as service:
        good = service.headers(body)
        cases = [
            ({}, 403),
            (service.headers(body, STRANGER), 403),
            ({**service.headers(body, STRANGER), "X-Bittensor-Hotkey": VALIDATOR.hotkey}, 401),
            (service.headers(body, receiver_ss58=STRANGER.hotkey), 401),
            (service.headers(body + b" "), 401),
            (service.headers(body, path="/v1/other"), 401),
            (service.headers(body, nonce_ns=1_700_000_000_000_000_000), 401),
            ({**good, "X-Bittensor-Signature": "0xzz"}, 401),
        ]
        for headers, expected in cases:
            status, answer = await service.post(body, headers)
            assert (status, list(msgspec.json.decode(answer))) == (expected, ["error"])
        assert (await service.post(body, good))[0] == 200


@pytest.mark.parametrize(
    ("changes", "status", "fault"),
    [
        ({"service": "code"}, 400, "at `action`"),
        ({"action": "write"}, 400, "at `action`"),
        ({"action": "JOIN"}, 400, "at `action`"),
        ({"max_cost_tao": 0.0005}, 400, "this costs 0.001 TAO - at `max_cost_tao`"),
        ({"attempt": 0}, 400, "$.attempt"),
        ({"more": 1}, 400, "more"),
        ({"params": {}}, 422, "missing required field `parts`"),
        ({"params": {"parts": "\x1b[31m"}}, 422, "at `params.parts`"),
        ({"params": {"parts": ["x" * (MAX_STEP_TEXT + 1)]}}, 422, "text"),
    ],
)
async def test_a_step_that_cannot_be_done_is_refused_with_the_field(
    changes: dict[str, Any], status: int, fault: str
) -> None:
    async with running() as service:
        got, answer = await service.ask(body_of(**changes))
    assert got == status
    assert fault in msgspec.json.decode(answer)["error"]


async def test_what_is_no_request_is_refused() -> None:
    async with running() as service:
        for body in (b"", b"{", b"[" * 500, b'{"run_id":"a","run_id":"b"}', b"\xff"):
            assert (await service.ask(body))[0] == 400
        assert (await service.ask(b" " * (MIB + 1)))[0] == 413


async def test_numbers_that_cannot_be_signed_are_refused() -> None:
    service = StepService("transform", SERVICE, {VALIDATOR.hotkey}, SystemClock())
    try:
        bench = Running(await service.start(), service.hotkey)
        params = {"rows": [{"n": 2**60, "k": "a"}], "field": "k", "value": "a"}
        status, answer = await bench.ask(body_of(service="transform", action="keep", params=params))
    finally:
        await service.close()
    assert status == 422
    assert "`output.data`" in msgspec.json.decode(answer)["error"]


def run_with(fault: Fault, seed: str) -> str:
    """A run id whose first attempt meets the fault."""
    for number in range(10_000):
        request = msgspec.json.decode(body_of(run_id=f"run-{number}"), type=StepRequest)
        if fault_of(seed, request) == fault:
            return request.run_id
    raise AssertionError(fault)


async def called(service: Running, run_id: str) -> StepReply:
    client = HttpStepClient(VALIDATOR, allow_private=True)
    try:
        return await client.call(service.tool(), body_of(run_id=run_id), 30.0)
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("fault", "outcome"), [("none", None), ("breaks", Reason.STEP_CONNECTION), ("fails", Reason.STEP_STATUS)]
)
async def test_faults_look_like_faults(fault: Fault, outcome: Reason | None) -> None:
    async with running("seed") as service:
        assert (await called(service, run_with(fault, "seed"))).reason == outcome


async def test_a_service_that_hangs_keeps_neither_caller_nor_itself_from_ending() -> None:
    async with running("seed") as service:
        open_call = asyncio.ensure_future(called(service, run_with("hangs", "seed")))
        other = await called(service, run_with("none", "seed"))
        assert other.reason is None
        assert not open_call.done()
    # Closing the service cut the call off: the caller's own limit would be another outcome.
    assert (await open_call).reason in (Reason.STEP_CONNECTION, Reason.STEP_TRANSPORT)


async def test_the_four_services_listen_side_by_side_with_keys_of_the_seed() -> None:
    services = LocalServices("seed", {VALIDATOR.hotkey}, SystemClock())
    try:
        addresses = await services.start()
    finally:
        await services.close()
    assert set(addresses) == {"text", "code", "retrieval", "transform"}
    assert len({address.url for address in addresses.values()}) == 4
    assert {name: address.hotkey for name, address in addresses.items()} == {
        name: Signer.from_uri(f"//seed//service-{name}").hotkey for name in addresses
    }
