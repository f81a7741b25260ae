"""Bodies are cut off at their limit while they are read, and cost little memory until then (SPEC 5)."""

import asyncio
import gc
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from miner_servers import (
    MIB,
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

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from validator.outgoing.calls import MEMORY_LIMIT, Body, Spool

BLOCK = b"x" * 65536


def endless(head: bytes, written: list[int], block: bytes = BLOCK) -> Handler:
    """Send `head`, then `block` until the client leaves; `written` counts the blocks."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(block)
            await writer.drain()
            written.append(len(block))

    return handle


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


@pytest.mark.parametrize("size", [0, 1, MEMORY_LIMIT, MEMORY_LIMIT + 1, 3 * MIB + 5])
async def test_a_body_up_to_its_limit_comes_back_as_sent(size: int, tmp_path: Path) -> None:
    body = (bytes(range(251)) * (size // 251 + 1))[:size]
    async with raw_server(answering(ok(body))) as axon, http_client(spool_folder=tmp_path) as client:
        reply = await client.post(call_to(axon, limit=size))
    assert reply.raw == RawAnswer(sha256_hex(body), size, complete=True)
    assert reply.body is not None
    assert reply.body.size == size
    assert reply.body.read() == body
    assert reply.body.read() == body  # reading leaves it as it was
    assert content(reply) == body
    assert is_empty(tmp_path)


async def test_an_announced_length_over_the_limit_is_refused_unread() -> None:
    async with raw_server(then_silent(ok(b"x" * 101)[:-101])) as axon, http_client() as client:
        reply = await client.post(call_to(axon, limit=100))
    assert (reply.reason, reply.status, reply.body) == (Reason.PARSE_TOO_LARGE, 200, None)


@pytest.mark.parametrize(
    ("head", "block"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", BLOCK),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + BLOCK + b"\r\n"),
    ],
)
@pytest.mark.parametrize("tls", [False, True])
async def test_an_endless_body_is_cut_off_at_its_limit(head: bytes, block: bytes, tls: bool) -> None:
    written: list[int] = []
    server = raw_server(endless(head, written, block), tls=self_signed() if tls else None)
    async with server as axon, http_client() as client:
        reply = await client.post(call_to(axon, limit=4 * MIB))
    assert (reply.reason, reply.status, reply.body) == (Reason.PARSE_TOO_LARGE, 200, None)
    assert sum(written) < 24 * MIB  # the limit and what the kernel's buffers hold


@pytest.mark.parametrize(("size", "reason"), [(100, None), (101, Reason.PARSE_TOO_LARGE)])
async def test_the_limit_itself_is_allowed_without_an_announcement(size: int, reason: Reason | None) -> None:
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"%x\r\n" % size + b"x" * size
    async with raw_server(answering(response + b"\r\n0\r\n\r\n")) as axon, http_client() as client:
        reply = await client.post(call_to(axon, limit=100))
    assert reply.reason == reason
    content(reply)


@pytest.mark.attack
async def test_sixty_hostile_bodies_cost_little_memory() -> None:
    written: list[int] = []
    async with raw_server(endless(b"HTTP/1.1 200 OK\r\n\r\n", written)) as axon, http_client() as client:
        await client.post(call_to(axon, limit=100))  # imports and buffers that come once
        tracemalloc.start()
        try:
            replies = await asyncio.gather(
                *(client.post(call_to(axon, limit=4 * MIB, deadline_s=120)) for _ in range(60))
            )
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert {reply.reason for reply in replies} == {Reason.PARSE_TOO_LARGE}
    assert peak < 100 * MIB  # both ends of the 60 connections; whole bodies would be 240


async def test_a_spool_folder_that_fails_is_our_fault_not_the_miners(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    async with raw_server(answering(ok(b"x" * MIB))) as axon, http_client(spool_folder=missing) as client:
        large = await client.post(call_to(axon))
        async with raw_server(answering(ok(b"small"))) as other:
            small = await client.post(call_to(other))
    assert (large.reason, large.status, large.body) == (Reason.LOCAL_RESOURCES, 200, None)
    assert content(small) == b"small"


async def test_a_cancelled_call_leaves_nothing_behind(tmp_path: Path) -> None:
    begun, left = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (32 * MIB))
        await writer.drain()  # more than the kernel holds: the client has begun to spool
        begun.set()
        try:
            await reader.read()
        finally:
            left.set()

    async with raw_server(handle) as axon, http_client(spool_folder=tmp_path) as client:
        task = asyncio.create_task(client.post(call_to(axon, limit=64 * MIB)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left.wait()
    del task
    gc.collect()  # an open file would be a ResourceWarning, and that an error
    assert is_empty(tmp_path)


async def test_a_cancelled_write_is_waited_for_before_its_file_is_closed() -> None:
    release, begun = threading.Event(), threading.Event()

    class SlowSpool(Spool):
        def _append(self, block: bytearray) -> None:
            begun.set()
            release.wait()
            super()._append(block)

    with ThreadPoolExecutor(1) as threads:
        spool = SlowSpool(threads)
        writing = asyncio.create_task(spool.write(b"x" * (MEMORY_LIMIT + 1)))
        await asyncio.to_thread(begun.wait)
        writing.cancel()
        await asyncio.sleep(0)
        waited = not writing.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        spool.discard()
    assert waited
    assert spool._file is not None
    assert spool._file.closed


def test_a_body_can_be_made_of_bytes() -> None:
    with Body(b"abc") as body:
        assert (body.size, body.read()) == (3, b"abc")
    assert body.read() == b""
