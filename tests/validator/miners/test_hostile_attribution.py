"""Nothing that a miner does makes its own failure void: each try over real sockets (SPEC 16, D-26)."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web
from daemon_process import Miners, honest
from miner_servers import answering, http_client, ok, raw_server
from msgspec import structs
from world import VALIDATOR, World, prepared, tasks_of_all_types

from sssa.protocol.answer import Dispatch
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.miners.client import MinerClient
from validator.rounds.prepare import Prepared
from validator.rounds.settle import settle_round
from validator.store import Store, open_store
from validator.tasks.source import MemorySource

WINDOWS = Windows((0, 3), (0, 3))
HOSTILE = 0
STRANGE = (  # what a parser of HTTP may stumble over
    b"\x00\xff\xfe garbage",
    b"HTTP/1.1 999999999 no\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nX: can't start new thread\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
)
BODIES = (  # and one of answers
    b"[" * 100_000,
    b'{"sssa": "\\ud800"}',
    b'{"sssa": ' + b"9" * 100_000 + b"}",
    b'{"sssa": NaN}',
    b"\xff" * 1_000,
)


@pytest.fixture
async def sqlite_store(sqlite_url: str) -> AsyncIterator[Store]:
    async with open_store(sqlite_url, writer=True) as store:
        yield store


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners(5)
    await miners.start()
    yield miners
    await miners.close()


async def chain_away() -> bool:
    """The most that could help: the validator's own endpoint happens to be away."""
    return True


async def reason_of(store: Store, miners: Miners, client: MinerClient, axon: Axon | None = None) -> str:
    """Play a round of one task with the hostile miner at `axon`; return the result of its dispatch."""
    world = World(store, miners=5, source=MemorySource(tasks_of_all_types(WINDOWS)[2:3]))
    round_ = await prepared(world)
    hostile = miners.signers[HOSTILE].hotkey
    axons = {**miners.axons, **({hostile: axon} if axon else {})}
    frozen = round_.frozen
    neurons = tuple(structs.replace(n, axon=axons.get(n.hotkey)) for n in frozen.snapshot.neurons)
    at = structs.replace(frozen, snapshot=structs.replace(frozen.snapshot, neurons=neurons))
    dispatcher = replace(world.dispatcher, client=client, away=chain_away)
    returned = await dispatcher.dispatch(Prepared(at, round_.plan, round_.bundles))
    assert not returned.alone
    await settle_round(store, world.clock, VALIDATOR, frozen, round_.plan, returned)
    async with store.read() as tx:
        reasons = {one.key.hotkey: str(one.reason) for one in await tx.dispatches.of_round(0)}
        entries = [entry.value for entry in await tx.windows.of_round(0) if entry.hotkey == hostile]
    assert {reason for hotkey, reason in reasons.items() if hotkey != hostile} == {"accepted"}
    assert entries == [0.0]
    return reasons[hostile]


def closed_port() -> Axon:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return Axon("127.0.0.1", taken.getsockname()[1])


async def test_it_refuses_connections(sqlite_store: Store, miners: Miners) -> None:
    async with http_client() as client:
        assert await reason_of(sqlite_store, miners, client, closed_port()) == "deadline_connect"


async def test_it_drops_what_comes(sqlite_store: Store, miners: Miners) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]  # anyone who comes after them gets no answer
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        async with http_client(connect_timeout_s=1.0) as client:
            axon = Axon("127.0.0.1", full.getsockname()[1])
            assert await reason_of(sqlite_store, miners, client, axon) in {"deadline_connect", "deadline_late"}
        for one in waiting:
            one.close()


async def test_it_announces_an_address_that_this_machine_cannot_reach(sqlite_store: Store, miners: Miners) -> None:
    """Without IPv6 the system reports it at once, with an error that can also mean that no port is left."""
    async with http_client(connect_timeout_s=1.0) as client:
        reason = await reason_of(sqlite_store, miners, client, Axon("2600::1", 9_000))
    assert reason == "deadline_connect"


async def test_it_answers_late_on_purpose(sqlite_store: Store, miners: Miners) -> None:
    async def late(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        if signer.hotkey == miners.signers[HOSTILE].hotkey:
            await asyncio.sleep(5.0)
        return await honest(signer, dispatch, request)

    miners.answerer = late
    async with http_client() as client:
        assert await reason_of(sqlite_store, miners, client) == "deadline_late"


@pytest.mark.parametrize("response", STRANGE, ids=range(len(STRANGE)))
async def test_it_sends_what_http_does_not_know(sqlite_store: Store, miners: Miners, response: bytes) -> None:
    async with raw_server(answering(response)) as axon, http_client() as client:
        reason = await reason_of(sqlite_store, miners, client, axon)
    assert reason.startswith(("deadline_", "parse_")), reason


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
async def test_it_sends_what_the_gates_stumble_over(sqlite_store: Store, miners: Miners, body: bytes) -> None:
    async with raw_server(answering(ok(body))) as axon, http_client() as client:
        reason = await reason_of(sqlite_store, miners, client, axon)
    assert reason.startswith("parse_"), reason
