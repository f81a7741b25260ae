"""Choice among a name's addresses, and rejection of line breaks in a request's lines."""

import asyncio
import hashlib
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from aiohttp.abc import AbstractResolver
from aiohttp.abc import ResolveResult as Resolved
from bittensor import http_auth
from miner_servers import BOB, call_to, content, http_client, ok, raw_server, read_request
from yarl import URL

from validator.outgoing.exchange import head_of
from validator.outgoing.wire import open_wire

THREADS = ThreadPoolExecutor(1)


class Addresses(AbstractResolver):
    """A name that has these addresses."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[Resolved]:
        return [
            {"hostname": host, "host": one, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
            for one in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""


async def test_an_address_of_a_name_that_refuses_makes_room_for_the_next() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw_server(silent) as axon:
        url = URL(f"http://service.example:{axon.port}/")
        wire = await open_wire(url, Addresses("127.0.0.2", "127.0.0.3", axon.ip), THREADS)
        try:
            assert wire.transport is not None
            assert wire.transport.get_extra_info("peername") == (axon.ip, axon.port)
        finally:
            wire.abort()
        with pytest.raises(ConnectionRefusedError):
            await open_wire(url, Addresses("127.0.0.2", "127.0.0.3"), THREADS)


async def test_without_a_resolver_a_name_is_not_called() -> None:
    with pytest.raises(OSError, match="a name"):
        await open_wire(URL("http://localhost:9/"), None, THREADS)


@pytest.mark.parametrize("path", ["/a\r\nX: y", "/a b", "/\n", "/\u00e9", "a", ""])
def test_a_path_that_does_not_fit_into_a_line_is_not_sent(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        head_of("POST", URL("http://192.0.2.7:1/"), path, 0, {})


async def test_a_digest_that_comes_with_a_call_is_the_one_that_is_signed() -> None:
    requests: list[tuple[bytes, bytes]] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(ok(b"{}"))

    async with raw_server(record) as axon, http_client() as client:
        for digest in (hashlib.sha256(b"{}").hexdigest(), hashlib.sha256(b"[]").hexdigest()):
            call = call_to(axon, body=b"{}", sha256=digest)
            content(await client.post(call))
    heads = [dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:-2]) for head, _ in requests]
    for head, signed in zip(heads, (b"{}", b"[]"), strict=True):
        http_auth.verify(head, signed, method="POST", path="/v1/assessments", self_hotkey_ss58=BOB.hotkey)
