"""Connections that do not come about, break, or fall silent: real sockets first, then a node in memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import bittensor as bt
import pytest
from aiohttp import web
from chain_worlds import ME, SdkWorld
from pump import pumped
from structlog.testing import capture_logs

from sssa.sources import SystemClock, VirtualClock
from validator.cancellation import ended
from validator.chain.bittensor import BittensorChain
from validator.chain.connection import Connection
from validator.chain.endpoints import Endpoints
from validator.chain.interface import ChainError, ChainUnreachableError
from validator.chain.limits import Limits

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
START = datetime(2026, 1, 1, tzinfo=UTC)


pytestmark = pytest.mark.usefixtures("sdk_home")


@asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield site.name.replace("http", "ws", 1)
    finally:
        await runner.cleanup()


async def page(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<h1>It works!</h1>")


async def silence(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for _ in socket:
        pass
    return socket


async def another_chain(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        asked = message.json()
        error = {"code": -32_601, "message": "Method not found"}
        await socket.send_json({"jsonrpc": "2.0", "id": asked["id"], "error": error})
    return socket


async def leave(chain: BittensorChain) -> None:
    """Close the chain and stop what the SDK leaves running while it dials, as the end of the event loop does."""
    await chain.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    left = [task for task in others if task.get_name() == "rpc-session"]
    await ended(left)  # at the moment at which dialling fails it loses a cancellation


def chain_at(*endpoints: str) -> BittensorChain:
    limits = Limits(call_s=1.0, submit_s=1.0, no_block_s=1.0)
    return BittensorChain(endpoints=endpoints, netuid=1, signer=ME, clock=SystemClock(), limits=limits)


@pytest.mark.parametrize("handler", [page, pytest.param(silence, marks=pytest.mark.faults), another_chain])
async def test_what_is_no_subtensor_is_told_from_one(handler: Handler) -> None:
    async with served(handler) as url:
        chain = chain_at(url)
        for call in (chain.head(), chain.genesis()):
            with pytest.raises(
                ChainUnreachableError, match=r"Method not found|no endpoint answered within 1 s: ws://127"
            ):
                await call
        await leave(chain)


@pytest.mark.parametrize("status", [429, 403])
async def test_an_endpoint_that_refuses_us_is_one_that_cannot_be_had(status: int) -> None:
    async def refusal(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    async with served(refusal) as first, served(another_chain) as second:
        chain = chain_at(first, second)
        with pytest.raises(ChainUnreachableError, match="Method not found"):
            await chain.head()
        await leave(chain)
        chain = chain_at(first)
        with pytest.raises(ChainUnreachableError, match=f"HTTP {status}"):
            await chain.head()
        await leave(chain)
        chain = chain_at(first, first.replace("127.0.0.1", "localhost"))
        with pytest.raises(ChainUnreachableError, match=f"{status}|no endpoint answered"):
            await chain.head()
        await leave(chain)


async def test_where_nobody_listens_nothing_can_be_reached_and_nothing_was_sent() -> None:
    async with served(page) as url:
        pass  # the port is free again
    chain = chain_at(url, url)
    calls: list[Awaitable[Any]] = [
        chain.head(),
        chain.wait_for_block(1),
        chain.set_weights(0, {1: 1.0}, valid_blocks=8),
        chain.announce_axon("192.0.2.1", 8_091),
    ]
    for call in calls:
        with pytest.raises(ChainUnreachableError):
            await call
    await leave(chain)


async def test_whoever_waits_outlasts_an_outage_and_a_dropped_subscription() -> None:
    world = SdkWorld()
    waiting = asyncio.create_task(world.chain.wait_for_block(20))
    await world.pass_blocks(5)
    with capture_logs() as logs:
        world.node.down = True
        await world.pass_blocks(10)  # 20 s: less than no_block_s
        assert not waiting.done()
        world.node.down = False
        head = await world.run(asyncio.wait_for(waiting, None))
    assert head.number >= 20
    assert logs == []
    await world.close()


async def test_a_node_that_shows_no_new_block_is_as_good_as_gone() -> None:
    world = SdkWorld()
    await world.run(world.chain.head())
    waiting = asyncio.create_task(world.chain.wait_for_block(1_000))
    await world.pass_blocks(3)
    world.node.silent = True
    with pytest.raises(ChainUnreachableError, match="no new block for 30 s"):
        await world.run(asyncio.wait_for(waiting, None))
    world.node.silent = False
    await world.run(world.chain.head())
    await world.close()


async def test_a_connection_that_was_still_opening_is_closed_once_it_is_open() -> None:
    world = SdkWorld()
    world.node.down = True
    with pytest.raises(ChainUnreachableError):
        await world.run(world.chain.set_weights(0, {1: 1.0}, valid_blocks=8))
    world.node.down = False
    await world.run(world.chain.head())
    await world.pass_blocks(3)
    assert world.node.connections == 1
    await world.close()


def test_a_connection_serves_one_event_loop() -> None:
    world = SdkWorld()
    asyncio.run(world.run(world.chain.head()))
    with pytest.raises(ChainError, match="another event loop"):
        asyncio.run(world.run(world.chain.head()))


async def test_answers_of_no_use_are_errors_of_the_chain_and_show_no_secret() -> None:
    world = SdkWorld()
    clock = VirtualClock(START)
    endpoints = Endpoints(["wss://node.invalid/v1/secret-key"], clock, Limits())
    connection = Connection(lambda: pytest.fail("not opened"), clock, 1.0, endpoints)
    for error in (KeyError("number"), ValueError("wss://node.invalid/v1/secret-key\n\x1b[31m"), TypeError("x")):
        assert type(connection.translated("head", error)) is ChainError
        told = connection.translated("head", error).detail
        assert told == "head at wss://node.invalid/***: the answer cannot be read"
    told = connection.translated("head", RuntimeError("wss://node.invalid/v1/secret-key\n\x1b[31m")).detail
    assert "secret-key" not in told
    assert told.isprintable()

    def broken(name: str) -> None:
        if name == "get_metagraph":
            raise KeyError("hotkeys")

    world.node.after_read = broken
    with pytest.raises(ChainError, match=r"metagraph at ws://node\.invalid.*: the answer cannot be read"):
        await pumped(world.time, world.chain.snapshot())
    await world.close()


@dataclass
class Client:
    """A client of the SDK that connects or does not."""

    fault: Exception | None
    closed: bool = False

    @property
    def _substrate(self) -> "Client":
        return self

    async def connect(self) -> None:
        await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault

    async def close(self) -> None:
        self.closed = True


def connection_of(made: list[Client], *faults: Exception | None) -> Connection:
    """Return a connection whose attempts end so, one after the other; they are noted in `made`."""

    def opened() -> bt.Client:
        made.append(Client(faults[len(made)]))
        return cast("bt.Client", made[-1])

    clock = SystemClock()
    return Connection(opened, clock, 1.0, Endpoints(["ws://node.invalid"], clock, Limits()))


async def test_who_hears_late_of_an_attempt_that_failed_leaves_the_next_one_alone() -> None:
    made: list[Client] = []
    connection = connection_of(made, OSError("gone"), None)

    async def twice() -> bt.Client:
        with pytest.raises(ChainUnreachableError):
            await connection.client()
        return await connection.client()

    async def once() -> None:
        with pytest.raises(ChainUnreachableError):
            await connection.client()

    found, _ = await asyncio.gather(twice(), once())
    assert await connection.client() is found
    await connection.close()
    assert [client.closed for client in made] == [False, True]


@pytest.mark.parametrize("fault", [TimeoutError("no handshake"), AssertionError("what the SDK lets through")])
async def test_an_attempt_that_ended_in_any_way_is_not_the_last(fault: Exception) -> None:
    connection = connection_of([], fault, None)
    with pytest.raises((ChainUnreachableError, AssertionError)):
        await connection.client()
    await connection.client()
    await connection.close()
