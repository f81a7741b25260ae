"""TLS of miners that want it to be dear or endless: little of it is taken, and it is the miner's failure (D-26)."""

import asyncio
import ssl
from pathlib import Path

import hostile_tls
import pytest
from hostile_tls import flooding, holding, update_keys
from miner_servers import Handler, answering, call_to, content, http_client, ok, raw_server, read_request, self_signed

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from validator.outgoing.calls import Reply

OUTWEIGHS = "headers, framing or TLS outweigh the body"


async def reply_of(handle: Handler, tls: ssl.SSLContext | None = None) -> Reply:
    async with raw_server(handle, tls=tls) as axon, http_client(connect_timeout_s=0.5) as client:
        return await client.post(call_to(Axon(axon.ip, axon.port, tls=True)))


def updating(times: int, *, each: int = 0) -> Handler:
    """Update keys so often, then answer; with `each`, data in records of that many bytes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        update_keys(writer.get_extra_info("ssl_object"), times)
        response = ok(b"x" * 100_000)
        for start in range(0, len(response), each or len(response)):
            writer.write(response[start : start + (each or len(response))])
        await writer.drain()

    return handle


async def in_tiny_records(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Begin a handshake message of 4 KiB, a byte a record."""
    writer.write(b"".join(b"\x16\x03\x03\x00\x01%c" % byte for byte in b"\x02\x00\x10\x00" + bytes(100)))
    await reader.read()


async def in_plain_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await reader.read()


@pytest.mark.parametrize(
    ("handle", "detail"),
    [
        (holding, "time is up"),
        (in_tiny_records, "the handshake is too long"),
        (in_plain_http, "not TLS"),
    ],
)
async def test_a_handshake_that_does_not_end_is_no_connection(handle: Handler, detail: str) -> None:
    reply = await reply_of(handle)
    assert (reply.reason, reply.status, reply.seconds) == (Reason.DEADLINE_CONNECT, None, None)
    assert detail in reply.detail


async def test_a_dear_key_exchange_is_not_taken_part_in(tmp_path: Path) -> None:
    for tls in (hostile_tls.own_group(tmp_path), hostile_tls.retried()):
        reply = await reply_of(answering(ok(b"")), tls)
        assert reply.reason == Reason.DEADLINE_CONNECT
        assert reply.detail != "time is up"


async def test_records_without_data_are_counted() -> None:
    """A server's two tickets are such, and some updates of its keys."""
    some = await reply_of(updating(30), self_signed())
    assert content(some) == b"x" * 100_000
    more = await reply_of(updating(31), self_signed())
    assert (more.reason, more.detail, more.status) == (Reason.DEADLINE_TRANSPORT, OUTWEIGHS, None)
    assert (await reply_of(flooding, self_signed())).detail == OUTWEIGHS


async def test_data_in_tiny_records_is_cut_off() -> None:
    assert content(await reply_of(updating(0, each=100), self_signed())) == b"x" * 100_000
    assert (await reply_of(updating(0, each=10), self_signed())).detail == OUTWEIGHS
