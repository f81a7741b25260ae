"""Calls of miners leave no growing memory, however they end."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from alive import blocks_alive
from miner_servers import Handler, answering, call_to, content, http_client, ok, raw_server, then_silent

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from validator.miners.client import HttpMinerClient
from validator.outgoing import wire
from validator.outgoing.wire import Wire

pytestmark = pytest.mark.attack

CALLS = 50
MOST = 30  # blocks; one object kept of each call would be fifty, every time

ENDS: dict[str, tuple[Handler, Reason | None, float]] = {
    "answered": (answering(ok(b"{}")), None, 10.0),
    "answered at length": (answering(ok(b"x" * 300_000)), None, 10.0),
    "no HTTP": (answering(b"\x00" * 100), Reason.DEADLINE_TRANSPORT, 10.0),
    "cut off": (answering(ok(b"xx")[:-1]), Reason.DEADLINE_TRANSPORT, 10.0),
    "never answered": (then_silent(b""), Reason.DEADLINE_LATE, 0.5),
}


async def after(client: HttpMinerClient, axon: Axon, reason: Reason | None, deadline_s: float) -> int:
    """Return the number of live blocks after some more calls, once the server is done with them."""
    before = asyncio.all_tasks()
    call = call_to(axon, body=b"x" * 1_000, deadline_s=deadline_s)
    for reply in await asyncio.gather(*(client.post(call) for _ in range(CALLS))):
        assert reply.reason == reason
        if reply.body is not None:
            reply.body.close()
    del reply
    while asyncio.all_tasks() - before:  # noqa: ASYNC110 - they end by themselves, and nothing says when
        await asyncio.sleep(0)
    return await blocks_alive()


@pytest.mark.parametrize("end", ["answered", "answered at length", "never answered"])
async def test_a_connection_is_free_when_its_call_is_over(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    handler, reason, deadline_s = ENDS[end]
    alive: weakref.WeakSet[Wire] = weakref.WeakSet()

    def noted(*of: Any) -> Wire:
        alive.add(wire := Wire(*of))
        return wire

    monkeypatch.setattr(wire, "Wire", noted)
    gc.disable()
    try:
        async with raw_server(handler) as axon, http_client() as client:
            reply = await client.post(call_to(axon, deadline_s=deadline_s))
            assert reply.reason == reason
            content(reply)
            for _ in range(4):  # the transport tells that it is closed
                await asyncio.sleep(0)
            assert not alive
    finally:
        gc.enable()


@pytest.mark.parametrize("end", ENDS)
async def test_more_calls_leave_no_more_alive_than_those_before(end: str) -> None:
    handler, reason, deadline_s = ENDS[end]
    async with raw_server(handler) as axon, http_client() as client:
        await after(client, axon, reason, deadline_s)
        first, second, third = [await after(client, axon, reason, deadline_s) for _ in range(3)]
        assert min(second - first, third - second) <= MOST  # what is made once, late, is in one of them
