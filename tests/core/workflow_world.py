"""Services that a test scripts, on virtual time."""

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from virtual_time import all_wait
from workflow_builders import SERVICE

from validator.kinds.workflow.step import StepReply
from validator.outgoing.stalls import StallsSince
from validator.protocol.canonical import sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Signature
from validator.protocol.workflow_run import StepAnswer, StepOutput, StepRequest
from validator.protocol.workflow_task import Tool
from validator.sources import Clock, VirtualClock

T = TypeVar("T")
BLANK = Signature("", "sr25519", "0x" + "0" * 128)
FOREVER = 1e9
TEXT = StepOutput("text", None, None)


def signed_answer(
    body: bytes, output: StepOutput, cost: float = 0.01, *, signer: Signer = SERVICE, sha256: str | None = None
) -> bytes:
    """Return a service's signed answer to the request `body`."""
    return msgspec.json.encode(signer.sign_document(StepAnswer(sha256 or sha256_hex(body), output, cost, BLANK)))


@dataclass(frozen=True)
class Try:
    """One attempt of a scripted service: wait, then answer (or fail)."""

    seconds: float = 1.0
    cost: float = 0.01
    fault: Reason | None = None
    output: StepOutput = TEXT
    bend: Callable[[bytes], bytes] | None = None


@dataclass
class ScriptedServices:
    """A `StepClient`: for each node its tries, the last of which repeats."""

    clock: Clock
    script: Mapping[str, list[Try]]
    requests: list[StepRequest] = field(default_factory=list)
    open_now: int = 0

    async def call(self, tool: Tool, body: bytes, timeout_s: float, stalls: StallsSince) -> StepReply:
        request = msgspec.json.decode(body, type=StepRequest)
        self.requests.append(request)
        tries = self.script.get(request.node_id, [Try()])
        now = tries[min(request.attempt, len(tries)) - 1]
        self.open_now += 1
        try:
            await self.clock.sleep(now.seconds)
        finally:
            self.open_now -= 1
        if now.fault is not None:
            return StepReply(now.fault, b"", "scripted")
        answer = signed_answer(body, now.output, now.cost)
        return StepReply(None, now.bend(answer) if now.bend else answer)

    async def close(self) -> None:
        """Hold nothing."""


async def on_virtual_time(clock: VirtualClock, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; the clock jumps to the next live sleeper whenever nothing else can run."""
    task = asyncio.ensure_future(work)
    while not task.done():
        await all_wait()
        sleepers = clock._sleepers
        while sleepers and sleepers[0][2].done():
            heapq.heappop(sleepers)
        if not task.done():
            if not sleepers:
                task.cancel()
                raise AssertionError("nobody is waiting for anything: a hang")
            await clock.advance(max(0.0, sleepers[0][0] - clock.monotonic()))
    return task.result()
