"""Limits of our servers against strangers: connections, time and log lines."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from validator.incoming.server import BoundedServer, Bounds, trusted

BOUNDS = Bounds(connections=4, header_s=30.0, request_s=30.0)
ASK = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def hello(_: web.Request) -> web.Response:
    return web.json_response("hello")


async def known(request: web.Request) -> web.Response:
    trusted(request)
    return web.json_response("hello")


async def much(_: web.Request) -> web.Response:
    return web.Response(body=bytes(64 * 1024 * 1024))


async def broken(_: web.Request) -> web.Response:
    raise RuntimeError("ours")


@asynccontextmanager
async def listening(bounds: Bounds = BOUNDS) -> AsyncIterator[tuple[str, int]]:
    app = web.Application()
    app.add_routes([web.get(f"/{one.__name__}", one) for one in (hello, known, much, broken)])
    server = await BoundedServer("test", app, bounds).start("127.0.0.1", 0)
    try:
        yield server.addresses[0]
    finally:
        await server.close()


async def ask(pair: Pair, what: bytes) -> str:
    """The body of the answer on a connection that stays open."""
    reader, writer = pair
    writer.write(ASK % what)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
    return str(json.loads(await reader.readexactly(length)))


async def ended(pair: Pair) -> bool:
    """Wait until the other side is gone."""
    try:
        while await pair[0].read(65_536):
            pass
    except ConnectionError:
        pass
    finally:
        pair[1].close()
    return True


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - names, counted


async def test_the_oldest_make_room_and_whoever_is_known_does_not() -> None:
    async with listening() as address:
        before = descriptors()
        friend = await asyncio.open_connection(*address)
        assert await ask(friend, b"known") == "hello"
        held = [await asyncio.open_connection(*address) for _ in range(40)]
        assert await asyncio.gather(*(ended(one) for one in held[: 40 - BOUNDS.connections]))
        assert descriptors() - before <= 41 + BOUNDS.descriptors
        assert await ask(friend, b"hello") == "hello"
        assert await ask(held[-1], b"hello") == "hello"
        for _, writer in (friend, *held):
            writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET /hello HTTP/1.1\r\nHost:", ASK % b"hello" + b"GET"])
async def test_a_header_that_does_not_come_ends_the_connection(sent: bytes) -> None:
    async with listening(BOUNDS._replace(header_s=0.1)) as address, asyncio.timeout(30):
        pair = await asyncio.open_connection(*address)
        pair[1].write(sent)
        assert await ended(pair)


async def test_an_answer_that_is_not_taken_ends_the_connection() -> None:
    async with listening(BOUNDS._replace(request_s=0.1)) as address, asyncio.timeout(30):
        reader, writer = await asyncio.open_connection(*address, limit=1024)
        writer.write(ASK % b"much")
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        before = descriptors()
        while descriptors() == before:  # noqa: ASYNC110 - the server's end of it
            await asyncio.sleep(0.01)
        writer.transport.abort()


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET /\xff\r\n\r\n", b"GET / HTTP/9\r\nx\r\n\r\n"]
)
async def test_what_is_no_request_is_one_line_however_often_it_comes(sent: bytes) -> None:
    with capture_logs() as lines:
        async with listening() as address:
            for _ in range(20):
                pair = await asyncio.open_connection(*address)
                pair[1].write(sent)
                assert await ended(pair)
                pair[1].close()
    (line,) = lines
    assert (line["event"], line["server"], line["peer"]) == ("request_malformed", "test", "127.0.0.1")
    assert line["reason"].isprintable()
    assert "exc_info" not in line


async def test_a_fault_of_ours_is_one_traceback_however_often_it_comes() -> None:
    with capture_logs() as lines:
        async with listening() as address:
            for _ in range(20):
                pair = await asyncio.open_connection(*address)
                pair[1].write(ASK % b"broken")
                assert await ended(pair)
                pair[1].close()
    (line,) = lines
    assert (line["event"], line["log_level"]) == ("request_failed", "error")
    assert isinstance(line["exc_info"], RuntimeError)


async def test_every_address_of_a_name_is_listened_at() -> None:
    app = web.Application()
    app.add_routes([web.get("/hello", hello)])
    server = await BoundedServer("test", app, BOUNDS).start("localhost", 0)
    try:
        for address in server.addresses:
            pair = await asyncio.open_connection(*address)
            assert await ask(pair, b"hello") == "hello"
            pair[1].close()
    finally:
        await server.close()
    with pytest.raises(OSError, match=r"[Rr]efused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", address[1])


async def test_a_bug_in_taking_one_connection_does_not_keep_the_next_ones_out(monkeypatch: pytest.MonkeyPatch) -> None:
    make_room = BoundedServer._make_room
    left = 2

    def failing(self: BoundedServer, server: web.Server) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise RuntimeError("ours")
        make_room(self, server)

    monkeypatch.setattr("validator.incoming.server._AGAIN_S", 0.0)
    monkeypatch.setattr(BoundedServer, "_make_room", failing)
    with capture_logs() as told:
        async with listening() as address:
            for _ in range(2):
                assert await ended(await asyncio.open_connection(*address))
            pair = await asyncio.open_connection(*address)
            assert await ask(pair, b"hello") == "hello"
            pair[1].close()
    (line,) = told
    assert (line["event"], line["server"], line["reason"]) == ("accept_failed", "test", "RuntimeError")
    assert isinstance(line["exc_info"], RuntimeError)
