"""Hostile step services: what comes back when an honest miner's plan is run."""

import asyncio
import random

import msgspec
from aiohttp import web
from workflow_builders import SERVICE, TEXT, signed_answer

from hostile.documents import unterminated
from hostile.kinds import Made, kind
from hostile.strings import everything
from sssa.protocol.limits import MAX_STEP_BODY, MAX_STEP_DATA, MAX_STEP_TEXT, MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_run import StepOutput, StepRequest

_SCHEMA = Reason.STEP_SCHEMA


class Serving:
    """One step to be answered with hostility."""

    def __init__(self, rng: random.Random, body: bytes, request: web.Request) -> None:
        self.rng = rng
        self.body = body
        self.request = request
        self.step = msgspec.json.decode(body, type=StepRequest)

    def answer(self, output: StepOutput = TEXT, cost: float = 0.0, **signed: str) -> bytes:
        return signed_answer(self.body, output, cost, signer=SERVICE, **signed)


@kind("services", "service", _SCHEMA, dear=True)
async def output_that_never_ends(case: Serving) -> Made:
    """256 KiB of an open string of escaped quotes."""
    return unterminated(MAX_STEP_BODY)


@kind("services", "service", _SCHEMA, dear=True)
async def output_with_a_duplicate_at_its_end(case: Serving) -> Made:
    """Twenty thousand keys of data, the last of them twice."""
    keys = b"".join(b'"%x":0,' % number for number in range(20_000))
    return case.answer().replace(b'"data":null', b'"data":{' + keys + b'"x":0,"x":0}', 1)


@kind("services", "service", Reason.STEP_SUCCEEDED, dear=True)
async def output_of_single_letters(case: Serving) -> Made:
    """A text of eight thousand words, to be compared with the reference."""
    return case.answer(StepOutput("a b " * (MAX_STEP_TEXT // 4), None, None))


@kind("services", "service", Reason.STEP_SUCCEEDED, dear=True)
async def output_of_floats(case: Serving) -> Made:
    """As many numbers as allowed, each in the slow path of canonical JSON."""
    return case.answer(StepOutput(None, None, [1e21] * (MAX_STEP_DATA // 6)))


@kind("services", "service", _SCHEMA)
async def output_too_deep(case: Serving) -> Made:
    """Data of a thousand levels."""
    return case.answer().replace(b'"data":null', b'"data":' + b"[" * 1_000 + b"]" * 1_000, 1)


@kind("services", "service", Reason.STEP_TOO_LARGE)
async def output_of_megabytes(case: Serving) -> Made:
    """Ten megabytes."""
    return b" " * (10 * MIB)


@kind("services", "service", _SCHEMA)
async def output_over_its_limit(case: Serving) -> Made:
    """A text of a byte too many, in letters of three bytes."""
    return case.answer(StepOutput("\u20ac" * (MAX_STEP_TEXT // 3 + 1), None, None))


@kind("services", "service", _SCHEMA)
async def odd_charge(case: Serving) -> Made:
    """A charge that is negative, infinite or no number."""
    return case.answer().replace(b'"cost_tao":0.0', b'"cost_tao":' + case.rng.choice([b"-1", b"1e999", b"NaN", b'"1"']))


@kind("services", "service", Reason.STEP_OVERCHARGED)
async def too_high_a_charge(case: Serving) -> Made:
    """A charge over what was admitted, rightly signed."""
    return case.answer(cost=100_000.0)


@kind("services", "service", Reason.STEP_SIGNATURE)
async def signed_by_another_service(case: Serving) -> Made:
    """An answer under another key."""
    return signed_answer(case.body, TEXT, 0.0, signer=Signer.from_uri("//Stranger"))


@kind("services", "service", Reason.STEP_OTHER_REQUEST)
async def answer_to_another_request(case: Serving) -> Made:
    """An answer that was signed for another step."""
    return case.answer(sha256="0" * 64)


@kind("services", "service", Reason.STEP_STATUS)
async def service_elsewhere(case: Serving) -> Made:
    """A redirect into the validator's own network."""
    return web.Response(status=307, headers={"Location": "http://169.254.169.254/latest/meta-data"})


@kind("services", "service", Reason.STEP_CONNECTION, Reason.STEP_TRANSPORT)
async def service_that_resets(case: Serving) -> Made:
    """A connection that is reset before the answer."""
    if case.request.transport is not None:
        case.request.transport.abort()
    return web.Response()


@kind("services", "service", Reason.STEP_TIMEOUT, Reason.STEP_RUN_ENDED)
async def service_that_drips(case: Serving) -> Made:
    """One byte a second."""
    response = web.StreamResponse()
    await response.prepare(case.request)
    try:
        for _ in range(10):
            await response.write(b" ")
            await asyncio.sleep(1)
    except OSError:
        pass
    return response


@kind("services", "service", Reason.STEP_SUCCEEDED)
async def output_of_injections(case: Serving) -> Made:
    """Escape codes, markup and references as text, code and data, rightly signed."""
    return case.answer(StepOutput(everything() + "${find.output.text}", everything(), {everything(): [everything()]}))
