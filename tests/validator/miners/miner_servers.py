"""Servers on loopback for the client to call, well-behaved and hostile, and what the tests say to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call, Reply

ALICE = Signer.from_uri("//Alice")
BOB = Signer.from_uri("//Bob")
MIB = 1024 * 1024

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def self_signed() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).with_name("self_signed.pem"))
    return context


@asynccontextmanager
async def raw_server(
    handle: Handler, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Axon]:
    """Serve connections with `handle`; leaving ends all of them."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (OSError, EOFError):
            pass  # the client went away, which many of these tests are about
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, host, 0, ssl=tls)
    try:
        yield Axon(host, server.sockets[0].getsockname()[1], tls is not None)
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return head and body of a request."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
    return head, await reader.readexactly(int(fields.get(b"Content-Length", b"0")))


def answering(response: bytes) -> Handler:
    """Read a request, send `response`, close."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response)
        await writer.drain()

    return handle


def then_silent(response: bytes) -> Handler:
    """Read a request, send `response`, keep the connection open until the client leaves."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(response)
        await reader.read()

    return handle


def ok(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def call_to(
    axon: Axon | None,
    *,
    body: bytes = b"{}",
    deadline_s: float = 10.0,
    limit: int = 4 * MIB,
    sha256: str | None = None,
) -> Call:
    return Call(BOB.hotkey, axon, "/v1/assessments", body, deadline_s, limit, sha256)


def content(reply: Reply) -> bytes | None:
    """Return the body and close it."""
    if reply.body is None:
        return None
    with reply.body as body:
        return body.read()


@asynccontextmanager
async def http_client(
    *, max_open: int = 128, connect_timeout_s: float = 5.0, allow_private: bool = True, spool_folder: Path | None = None
) -> AsyncIterator[HttpMinerClient]:
    client = HttpMinerClient(
        ALICE,
        max_open=max_open,
        connect_timeout_s=connect_timeout_s,
        allow_private=allow_private,
        spool_folder=spool_folder,
    )
    try:
        yield client
    finally:
        await client.close()
