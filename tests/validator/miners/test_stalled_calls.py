"""The validator's own pauses in calls over real sockets: they move deadlines, and show who ended what (D-26)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from miner_servers import Handler, answering, call_to, content, http_client, ok, raw_server, read_request

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from validator.outgoing.calls import Reply
from validator.outgoing.stalls import Stall, long_stall


def since(known: Sequence[Stall], moment: float) -> tuple[Stall, ...]:
    return tuple(stall for stall in known if stall.end > moment)


async def reply_of(handle: Handler, *stalls: tuple[float, float], tls: bool = False) -> Reply:
    """Call with these stalls, from the beginning of the call on."""
    began = asyncio.get_running_loop().time()
    async with raw_server(handle) as axon, http_client(connect_timeout_s=0.2) as client:
        call = call_to(Axon(axon.ip, axon.port, tls=tls), deadline_s=0.2)
        known = [Stall(began + start, seconds) for start, seconds in stalls]
        return await client.post(replace(call, stalls=partial(since, known)))


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    await asyncio.sleep(0.4)
    writer.write(ok(b"abc"))


async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read()


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.transport.abort()


async def cut_within(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(ok(b"abc")[:-1])


async def test_a_stall_moves_the_deadline() -> None:
    assert (await reply_of(slow)).reason == Reason.DEADLINE_LATE
    assert content(await reply_of(slow, (-1.0, 30.0))) == b"abc"


@pytest.mark.parametrize("tls", [False, True])
async def test_silence_ends_all_the_same(tls: bool) -> None:
    """A stall delays the end of a handshake, and of a call, that nothing comes of."""
    began = asyncio.get_running_loop().time()
    reply = await reply_of(silent, (0.05, 0.5), tls=tls)
    assert asyncio.get_running_loop().time() - began >= 0.65
    assert reply.reason == (Reason.DEADLINE_CONNECT if tls else Reason.DEADLINE_LATE)
    assert reply.ended is None


@pytest.mark.parametrize(
    ("handle", "tls", "ended"),
    [
        (cut, False, True),
        (cut, True, True),
        (cut_within, False, True),
        (answering(b"HTTP/1.1 500 No\r\n\r\n"), False, False),
        (answering(b"no HTTP at all"), False, False),
        (answering(b"HTTP/1.1 200 OK\r\n\r\nuntil the end"), False, False),
    ],
)
async def test_a_reply_says_when_the_other_side_ended_the_exchange(handle: Handler, tls: bool, ended: bool) -> None:
    before = asyncio.get_running_loop().time()
    reply = await reply_of(handle, tls=tls)
    assert (reply.ended is not None) == ended
    assert reply.ended is None or before <= reply.ended <= asyncio.get_running_loop().time()


async def test_a_refusal_is_no_end() -> None:
    async with raw_server(silent) as axon:
        pass
    async with http_client() as client:
        reply = await client.post(call_to(axon))
    assert (reply.reason, reply.ended) == (Reason.DEADLINE_CONNECT, None)


def test_a_stall_has_to_be_long_and_the_end_in_it_or_just_after_it() -> None:
    for ended, seconds, its in (
        (5.0, 10.0, True),
        (2.0, 10.0, True),
        (12.9, 10.0, True),
        (13.1, 10.0, False),
        (1.9, 10.0, False),
        (5.0, 9.9, False),
        (None, 10.0, False),
    ):
        known = [Stall(2.0, seconds)]
        assert (long_stall(partial(since, known), ended) is not None) == its
