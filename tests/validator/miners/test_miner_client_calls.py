"""Calls run side by side, their clocks start when they really begin, and every request is signed anew (SPEC 5, 13)."""

import asyncio
import itertools
from dataclasses import replace

import pytest
from bittensor import http_auth
from hypothesis import given
from hypothesis import strategies as st
from miner_servers import (
    ALICE,
    BOB,
    Handler,
    answering,
    call_to,
    content,
    http_client,
    ok,
    raw_server,
    read_request,
)

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from validator.outgoing.exchange import Nonces


def recording(requests: list[tuple[bytes, bytes]], response: bytes | None = None) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(ok(b"{}") if response is None else response)

    return handle


def fields_of(head: bytes) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:-2])


async def test_sixty_calls_are_open_together() -> None:
    seen = 0
    everyone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        await read_request(reader)
        seen += 1
        if seen == 60:
            everyone.set()
        await everyone.wait()  # nobody is answered before all sixty are here
        writer.write(ok(b"{}"))

    async with raw_server(handle) as axon, http_client(max_open=60) as client:
        replies = await asyncio.gather(*(client.post(call_to(axon, body=b"x" * 100_000)) for _ in range(60)))
    assert [content(reply) for reply in replies] == [b"{}"] * 60


@pytest.mark.parametrize("size", [0, 10, 40_000, 3_000_000])
@pytest.mark.parametrize("end", [0, 10, 40_000, 3_000_000])
async def test_a_body_in_two_pieces_arrives_whole_and_signed_for(size: int, end: int) -> None:
    requests: list[tuple[bytes, bytes]] = []
    body, tail = b"b" * size, b"t" * end
    async with raw_server(recording(requests)) as axon, http_client() as client:
        for sha256 in (None, sha256_hex(body + tail)):
            assert content(await client.post(replace(call_to(axon, body=body, sha256=sha256), tail=tail))) == b"{}"
    for head, arrived in requests:
        assert arrived == body + tail
        http_auth.verify(fields_of(head), arrived, method="POST", path="/v1/assessments", self_hotkey_ss58=BOB.hotkey)
    assert len(requests) == 2


async def test_waiting_for_a_turn_is_not_on_the_miners_time() -> None:
    open_now = most = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        await read_request(reader)
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.3)
        open_now -= 1
        writer.write(ok(b"{}"))

    async with raw_server(handle) as axon, http_client(max_open=2) as client:
        replies = await asyncio.gather(*(client.post(call_to(axon, deadline_s=1.0)) for _ in range(10)))
    assert [content(reply) for reply in replies] == [b"{}"] * 10  # 1.5 s altogether
    assert most == 2


async def test_what_the_validator_does_before_the_first_byte_is_not_on_the_miners_time() -> None:
    requests: list[tuple[bytes, bytes]] = []

    async def sent() -> None:
        assert requests == []
        await asyncio.sleep(0.5)

    async with raw_server(recording(requests)) as axon, http_client(connect_timeout_s=0.3) as client:
        reply = await client.post(call_to(axon, deadline_s=0.4), sent)
    assert content(reply) == b"{}"
    assert reply.seconds is not None
    assert reply.seconds <= 0.4


async def test_sent_is_not_called_without_a_connection() -> None:
    calls: list[int] = []

    async def sent() -> None:
        calls.append(1)

    async with raw_server(answering(ok(b"{}"))) as axon, http_client() as client:
        pass_through = await client.post(call_to(axon), sent)
        content(pass_through)
    async with http_client() as client:
        refused = await client.post(call_to(axon), sent)  # the server is gone
    assert refused.reason == Reason.DEADLINE_CONNECT
    assert calls == [1]


@pytest.mark.parametrize("error", [RuntimeError("store"), OSError(28, "disk full"), TimeoutError("slow")])
async def test_what_sent_raises_comes_out_and_nothing_is_sent(error: Exception) -> None:
    requests: list[bytes] = []

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        requests.append(await reader.read())

    async def sent() -> None:
        raise error

    async with raw_server(record) as axon, http_client() as client:
        with pytest.raises(type(error)) as caught:
            await client.post(call_to(axon), sent)
        async with raw_server(answering(ok(b"{}"))) as other:
            content(await client.post(call_to(other)))
    assert caught.value is error
    assert b"".join(requests) == b""


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_request_carries_a_signature_that_the_miner_can_verify(method: str) -> None:
    requests: list[tuple[bytes, bytes]] = []
    async with raw_server(recording(requests)) as axon, http_client() as client:
        call = call_to(axon, body=b'{"a": 1}')
        content(await (client.post(call) if method == "POST" else client.get(call)))
    [(head, body)] = requests
    assert body == (b'{"a": 1}' if method == "POST" else b"")
    assert head.startswith(f"{method} /v1/assessments HTTP/1.1\r\n".encode())
    caller = http_auth.verify(fields_of(head), body, method=method, path="/v1/assessments", self_hotkey_ss58=BOB.hotkey)
    assert caller.hotkey_ss58 == ALICE.hotkey


async def test_every_request_is_signed_anew_and_tells_nothing_else() -> None:
    requests: list[tuple[bytes, bytes]] = []
    cookie = ok(b"{}").replace(b"\r\n", b"\r\nSet-Cookie: a=b; Path=/\r\n", 1)
    async with raw_server(recording(requests, cookie)) as axon, http_client() as client:
        for _ in range(5):
            content(await client.post(call_to(axon)))
    heads = [fields_of(head) for head, _ in requests]
    nonces = [int(head["X-Bittensor-Nonce"]) for head in heads]
    assert nonces == sorted(set(nonces))
    assert len({head["X-Bittensor-Signature"] for head in heads}) == 5
    assert {frozenset(head) for head in heads} == {
        frozenset(
            {
                "Host",
                "Accept",
                "Accept-Encoding",
                "User-Agent",
                "Content-Type",
                "Content-Length",
                "Connection",
                "X-Bittensor-Version",
                "X-Bittensor-Hotkey",
                "X-Bittensor-Receiver",
                "X-Bittensor-Nonce",
                "X-Bittensor-Signature",
            }
        )
    }
    assert heads[0]["Accept-Encoding"] == "identity"


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with raw_server(answering(ok(b"{}"))) as axon, http_client() as client:
        assert content(await client.post(call_to(axon))) == b"{}"


@given(st.lists(st.integers(min_value=-(10**8), max_value=10**8), min_size=1))
def test_nonces_increase_whatever_a_trembling_clock_says(steps: list[int]) -> None:
    times = list(itertools.accumulate(steps, initial=10**18))
    latest = itertools.accumulate(times, max)
    nonces = Nonces(iter(times).__next__)
    drawn = [nonces.next() for _ in times]
    assert all(nonce >= moment for nonce, moment in zip(drawn, times, strict=True))
    if all(highest - moment < 10**9 - len(times) for highest, moment in zip(latest, times, strict=True)):
        assert drawn == sorted(set(drawn))


def test_nonces_follow_a_clock_that_was_set_back() -> None:
    times = iter([10**18, 10**18 - 2 * 10**9, 10**18 - 2 * 10**9])
    nonces = Nonces(times.__next__)
    assert [nonces.next() for _ in range(3)] == [10**18, 10**18 - 2 * 10**9, 10**18 - 2 * 10**9 + 1]
