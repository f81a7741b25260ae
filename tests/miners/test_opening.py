"""Which of a name's addresses is called, and that a request has nothing in its lines that ends one."""

import asyncio
import hashlib

import pytest
from bittensor import http_auth
from miner_servers import BOB, call_to, content, http_client, ok, raw_server, read_request
from yarl import URL

from validator.outgoing import opening
from validator.outgoing.opening import first_of, open_wire
from validator.outgoing.request import head_of


class Network:
    """Addresses that answer, refuse, or are silent until they are let go."""

    def __init__(self, *refusing: str, silent: tuple[str, ...] = ()) -> None:
        self.refusing, self.silent = refusing, silent
        self.begun = asyncio.Event()
        self.tried: list[str] = []
        self.given_up: list[str] = []
        self.dropped: list[str] = []

    async def connect(self, address: str) -> str:
        self.tried.append(address)
        self.begun.set()
        if address in self.refusing:
            raise ConnectionRefusedError(address)
        if address in self.silent:
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.append(address)
        return address

    async def first(self, *addresses: str) -> str:
        return await first_of(addresses, self.connect, self.dropped.append)


async def test_the_first_address_that_answers_is_taken_and_no_other_is_called() -> None:
    network = Network()
    assert await network.first("a", "b") == "a"
    assert network.tried == ["a"]


async def test_one_that_refuses_makes_room_for_the_next_at_once() -> None:
    network = Network("a", "b")
    assert await network.first("a", "b", "c") == "c"
    with pytest.raises(ConnectionRefusedError, match="b"):
        await network.first("a", "b")


async def test_one_that_is_silent_has_a_head_start_and_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_HEAD_START_S", 0.001)
    network = Network(silent=("a",))
    assert await network.first("a", "b", "c") == "b"
    assert (network.given_up, network.dropped) == (["a"], [])


async def test_a_call_that_is_cancelled_leaves_no_attempt_behind() -> None:
    network = Network(silent=("a", "b"))
    waiting = asyncio.ensure_future(network.first("a", "b"))
    await network.begun.wait()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert network.given_up == network.tried


async def test_what_came_about_beside_the_first_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_HEAD_START_S", 0.001)
    both, network = asyncio.Event(), Network()

    async def connect(address: str) -> str:
        if address == "b":
            both.set()
        await both.wait()
        return address

    won = await first_of(("a", "b"), connect, network.dropped.append)
    assert {won, *network.dropped} == {"a", "b"}


async def test_without_a_resolver_a_name_is_not_called() -> None:
    with pytest.raises(OSError, match="a name"):
        await open_wire(URL("http://localhost:9/"), None)


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
