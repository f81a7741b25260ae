"""Whatever a miner does, the client says what it was: one reply, one reason (SPEC 5, gate 1)."""

import asyncio
import selectors
import socket
import struct
from typing import cast

import pytest
from miner_servers import (
    Handler,
    answering,
    call_to,
    content,
    http_client,
    ok,
    raw_server,
    read_request,
    self_signed,
    then_silent,
)

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from validator.outgoing.calls import Reply

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def reply_of(handle: Handler, *, deadline_s: float = 10.0, method: str = "post") -> Reply:
    async with raw_server(handle) as axon, http_client() as client:
        call = call_to(axon, deadline_s=deadline_s)
        return await (client.post(call) if method == "post" else client.get(call))


@pytest.mark.parametrize("method", ["get", "post"])
async def test_a_whole_answer_arrives(method: str) -> None:
    reply = await reply_of(answering(ok(b'{"a": 1}')), method=method)
    assert (reply.reason, reply.status, reply.detail) == (None, 200, "")
    assert reply.body is not None
    assert (reply.body.read(), reply.body.size) == (b'{"a": 1}', 8)
    assert reply.seconds is not None
    assert 0 <= reply.seconds <= 10


@pytest.mark.parametrize(
    ("response", "body"),
    [
        (CHUNKED + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", b"abc"),
        (b"HTTP/1.0 200 fine\r\n\r\nabc", b"abc"),
        (ok(b""), b""),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + ok(b"abc"), b"abc"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 3 + ok(b"abc"), b"abc"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08", b"\x1f\x8b\x08"),
    ],
)
async def test_what_http_allows_is_taken_as_it_is(response: bytes, body: bytes) -> None:
    reply = await reply_of(answering(response))
    assert (reply.reason, reply.status) == (None, 200)
    assert content(reply) == body


@pytest.mark.parametrize("more", [b"d", b"HTTP/1.1 200 OK\r\n\r\nand another", b"\x00" * 100_000])
async def test_bytes_after_a_response_are_none_of_it(more: bytes) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(ok(b"abc")[:-1])
        writer.write(b"c")
        await asyncio.sleep(0.1)  # in one segment with the response they break it, as HTTP says
        writer.write(more)

    reply = await reply_of(handle)
    assert content(reply) == b"abc"
    together = await reply_of(answering(ok(b"abc") + more))
    assert together.reason in {None, Reason.DEADLINE_TRANSPORT}


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (b"", None),
        (b"HTTP/1.1 20", None),
        (b"\x00\xff\xfe garbage \r\n\r\n" * 10_000, None),
        (b"SSH-2.0-OpenSSH_9.6\r\n", None),
        (b"HTTP/1.1 200 OK\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc", 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 200),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000_000 + b"\r\n", 200),
        (b"HTTP/1.1 200 " + b"x" * 1_000_000 + b"\r\n\r\n", 200),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", 200),
        (CHUNKED + b"zz\r\nabc\r\n", 200),
        (CHUNKED + b"3\r\nabc\r\n", 200),
        (CHUNKED + b"ffffffffffffffffff\r\nabc", 200),
        (CHUNKED + b"3;" + b"x" * 1_000_000 + b"\r\nabc\r\n0\r\n\r\n", 200),
    ],
)
async def test_what_is_not_a_whole_http_response_is_a_transport_failure(response: bytes, status: int | None) -> None:
    reply = await reply_of(answering(response))
    assert (reply.reason, reply.status, reply.body) == (Reason.DEADLINE_TRANSPORT, status, None)
    assert reply.seconds is not None
    assert reply.detail.isprintable()
    assert 0 < len(reply.detail) <= 201


@pytest.mark.parametrize(
    ("head", "taken"),
    [
        (b"".join(b"X%d: y\r\n" % i for i in range(64)), True),
        (b"".join(b"X%d: y\r\n" % i for i in range(65)), False),
        (b"X: " + b"y" * 8_180 + b"\r\n", True),
        (b"X: " + b"y" * 8_190 + b"\r\n", False),
        (b"".join(b"X%d: " % i + b"y" * 8_000 + b"\r\n" for i in range(4)), True),
        (b"".join(b"X%d: " % i + b"y" * 8_000 + b"\r\n" for i in range(5)), False),
    ],
)
async def test_headers_are_bounded_one_by_one_in_number_and_together(head: bytes, taken: bool) -> None:
    reply = await reply_of(answering(b"HTTP/1.1 200 OK\r\n" + head + b"\r\nabc"))
    assert reply.reason == (None if taken else Reason.DEADLINE_TRANSPORT)
    assert content(reply) == (b"abc" if taken else None)


@pytest.mark.parametrize(
    ("head", "endless", "status"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 100),
        (b"", b"HTTP/1.1 103 Early Hints\r\n" + b"A: b\r\n" * 50 + b"\r\n", 103),
        (CHUNKED, b"1\r\na\r\n" * 10_000, 200),
    ],
)
async def test_endless_framing_is_cut_off(head: bytes, endless: bytes, status: int) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(endless)
            await writer.drain()

    reply = await reply_of(handle)
    assert (reply.reason, reply.status) == (Reason.DEADLINE_TRANSPORT, status)
    assert reply.detail == "headers, framing or TLS outweigh the body"


@pytest.mark.parametrize("status", [101, 201, 204, 304, 400, 401, 404, 429, 500, 503, 999])
async def test_another_status_is_a_failure_and_its_body_is_not_read(status: int) -> None:
    reply = await reply_of(then_silent(b"HTTP/1.1 %d X\r\nContent-Length: 1000000\r\n\r\n" % status))
    assert (reply.reason, reply.status, reply.detail) == (Reason.DEADLINE_STATUS, status, f"status {status}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_not_followed(status: int) -> None:
    reached: list[bytes] = []

    async def target(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.read(1))

    async with raw_server(target) as other, http_client() as client:
        location = f"http://{other.ip}:{other.port}/v1/assessments".encode()
        response = b"HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location)
        async with raw_server(answering(response)) as axon:
            replies = [await client.post(call_to(axon)), await client.get(call_to(axon))]
    assert [(reply.reason, reply.status) for reply in replies] == [(Reason.DEADLINE_STATUS, status)] * 2
    assert reached == []


@pytest.mark.parametrize(
    ("begin", "status"),
    [(b"", None), (b"HTTP/1.1 ", None), (b"HTTP/1.1 200 OK\r\n", 200), (ok(b"abc")[:-1], 200), (CHUNKED, 200)],
)
async def test_silence_ends_at_the_deadline(begin: bytes, status: int | None) -> None:
    reply = await reply_of(then_silent(begin), deadline_s=0.2)
    assert (reply.reason, reply.status, reply.body) == (Reason.DEADLINE_LATE, status, None)
    assert reply.seconds is not None
    assert reply.seconds >= 0.2


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX: ", CHUNKED + b"ffff\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
async def test_a_byte_now_and_then_ends_at_the_deadline(head: bytes) -> None:
    dripped = 0

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal dripped
        await read_request(reader)
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(b"a")
            dripped += 1
            await asyncio.sleep(0.02)

    reply = await reply_of(drip, deadline_s=0.3)
    assert (reply.reason, reply.status) == (Reason.DEADLINE_LATE, 200)
    assert dripped > 1


async def test_a_peer_that_never_reads_ends_at_the_deadline_and_holds_nothing() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        cast("asyncio.Transport", writer.transport).pause_reading()
        await asyncio.Event().wait()

    async with raw_server(deaf) as axon, http_client() as client:
        reply = await client.post(call_to(axon, body=b"x" * 30_000_000, deadline_s=0.3))
        loop = asyncio.get_running_loop()
        assert isinstance(loop, asyncio.SelectorEventLoop)
        registered = loop._selector.get_map().values()  # type: ignore[attr-defined]
        waiting_to_write = [key for key in registered if key.events & selectors.EVENT_WRITE]
    assert (reply.reason, reply.status) == (Reason.DEADLINE_LATE, None)
    assert waiting_to_write == []


async def test_a_peer_that_speaks_first_is_read_when_it_was_asked() -> None:
    body = bytes(range(256)) * 1000
    spoken = asyncio.Event()

    async def eager(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ok(body))
        spoken.set()
        await read_request(reader)
        await writer.drain()

    async def sent() -> None:
        await spoken.wait()
        await asyncio.sleep(0.1)

    async with raw_server(eager) as axon, http_client() as client:
        reply = await client.post(call_to(axon), sent)
    assert content(reply) == body
    assert reply.seconds is not None
    assert reply.seconds >= 0


async def test_an_early_verdict_over_a_large_request_counts() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    async with raw_server(refuse) as axon, http_client() as client:
        reply = await client.post(call_to(axon, body=b"x" * 30_000_000))
    assert (reply.reason, reply.status) == (Reason.DEADLINE_STATUS, 413)


async def test_a_reset_half_way_is_a_transport_failure() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(ok(b"x" * 1000)[:500])
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    reply = await reply_of(reset)
    assert reply.reason == Reason.DEADLINE_TRANSPORT


@pytest.mark.parametrize("method", ["get", "post"])
async def test_nothing_is_sent_twice(method: str) -> None:
    requests: list[bytes] = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        requests.append((await read_request(reader))[0])

    reply = await reply_of(hang_up, method=method)
    assert reply.reason == Reason.DEADLINE_TRANSPORT
    assert len(requests) == 1


async def test_a_dead_port_is_a_connect_failure() -> None:
    with socket.socket() as bound:  # bound, but nobody listens
        bound.bind(("127.0.0.1", 0))
        async with http_client() as client:
            reply = await client.post(call_to(Axon("127.0.0.1", bound.getsockname()[1])))
    assert (reply.reason, reply.status, reply.seconds, reply.body) == (Reason.DEADLINE_CONNECT, None, None, None)
    assert reply.detail


async def test_a_connection_that_does_not_come_about_is_a_connect_failure() -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        await reader.read()  # and never answers the TLS greeting

    async with raw_server(accept) as axon, http_client(connect_timeout_s=0.2) as client:
        reply = await client.post(call_to(Axon(axon.ip, axon.port, tls=True)))
    assert (reply.reason, reply.status, reply.seconds) == (Reason.DEADLINE_CONNECT, None, None)


async def test_https_needs_no_authority_and_survives_a_peer_that_closes_at_once() -> None:
    body = bytes(range(256)) * 4096
    async with raw_server(answering(ok(body)), tls=self_signed()) as axon, http_client() as client:
        replies = await asyncio.gather(*(client.post(call_to(axon)) for _ in range(10)))
        as_http = await client.post(call_to(Axon(axon.ip, axon.port)))
    assert [content(reply) == body for reply in replies] == [True] * 10
    assert as_http.reason in {Reason.DEADLINE_TRANSPORT, Reason.DEADLINE_STATUS}


async def test_a_miner_without_axon_is_not_called() -> None:
    async with http_client() as client:
        reply = await client.post(call_to(None))
    assert reply == Reply(Reason.DEADLINE_NO_AXON, None, None, None, "")


async def test_private_addresses_are_called_only_where_allowed() -> None:
    async with raw_server(answering(ok(b"abc"))) as axon, http_client(allow_private=False) as client:
        reply = await client.post(call_to(axon))
    assert (reply.reason, reply.status, reply.seconds) == (Reason.DEADLINE_AXON_REFUSED, None, None)
    assert "127.0.0.1" in reply.detail


async def test_ipv6_works() -> None:
    try:
        async with raw_server(answering(ok(b"abc")), host="::1") as axon, http_client() as client:
            reply = await client.post(call_to(axon))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert (reply.reason, reply.status) == (None, 200)
