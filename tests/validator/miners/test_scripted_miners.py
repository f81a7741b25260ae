"""Scripted miners keep the rules of gate 1, on any clock."""

import asyncio

import pytest
from miner_servers import call_to, content

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from sssa.sources import VirtualClock
from validator.miners.client import MinerClient
from validator.miners.scripted import ScriptedMinerClient, ScriptedReply
from validator.outgoing.calls import Call, Reply

AXON = Axon("127.0.0.1", 8091)


async def virtual(script: ScriptedReply, call: Call, advance: float = 100.0) -> tuple[Reply, float]:
    """Return the reply and the virtual second at which it came."""
    clock = VirtualClock()
    client: MinerClient = ScriptedMinerClient(lambda _method, _call: script, clock)

    async def timed() -> tuple[Reply, float]:
        return await client.post(call), clock.monotonic()

    task = asyncio.create_task(timed())
    await asyncio.sleep(0)
    await clock.advance(advance)
    return await task


@pytest.mark.parametrize(
    ("script", "reason", "status", "seconds"),
    [
        (ScriptedReply(b"abc", 3), None, 200, 3),
        (ScriptedReply(b"abc", 10), None, 200, 10),
        (ScriptedReply(b"abc", 10.5), Reason.DEADLINE_LATE, None, 10),
        (ScriptedReply(b"abcdef", 3), Reason.PARSE_TOO_LARGE, 200, 3),
        (ScriptedReply(b"abc", 3, status=500), Reason.DEADLINE_STATUS, 500, 3),
        (ScriptedReply(b"abc", 3, status=None), Reason.DEADLINE_TRANSPORT, None, 3),
        (ScriptedReply(connects=False), Reason.DEADLINE_CONNECT, None, None),
    ],
)
async def test_gate_1_holds(
    script: ScriptedReply, reason: Reason | None, status: int | None, seconds: float | None
) -> None:
    reply, moment = await virtual(script, call_to(AXON, limit=5))
    assert (reply.reason, reply.status, reply.seconds) == (reason, status, seconds)
    assert content(reply) == (script.body if reason is None else None)
    assert moment == (seconds or 0)


@pytest.mark.parametrize(
    ("axon", "reason"),
    [(None, Reason.DEADLINE_NO_AXON), (Axon("0.0.0.0", 1), Reason.DEADLINE_AXON_REFUSED)],
)
async def test_a_miner_that_cannot_be_called_is_not_asked(axon: Axon | None, reason: Reason) -> None:
    def script(method: str, call: Call) -> ScriptedReply:
        raise AssertionError(method, call)

    reply = await ScriptedMinerClient(script, VirtualClock()).get(call_to(axon))
    assert reply.reason == reason


async def test_the_script_sees_method_and_call_and_sent_comes_first() -> None:
    events: list[object] = []

    def script(method: str, call: Call) -> ScriptedReply:
        events.append((method, call.path))
        return ScriptedReply(b"{}")

    async def sent() -> None:
        events.append("sent")

    client = ScriptedMinerClient(script, VirtualClock())
    call = call_to(AXON)
    replies = asyncio.gather(client.get(call), client.post(call, sent))
    await asyncio.sleep(0)
    clock = client._clock
    assert isinstance(clock, VirtualClock)
    await clock.advance(0)
    assert [content(reply) for reply in await replies] == [b"{}", b"{}"]
    assert events == [("GET", "/v1/assessments"), ("POST", "/v1/assessments"), "sent"]
