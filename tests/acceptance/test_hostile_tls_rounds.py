"""Miners whose TLS is dear, endless or held open, alone and with a second key, in rounds of a real daemon (D-26).

`make attack` plays a few rounds of each; TLS_ROUNDS=10 more, and prints the event loop's lag.
"""

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import hostile_tls
import pytest
from aiohttp import web
from daemon_process import Miners, Site, free_port, honest, until
from process_watch import lag_of, metrics_of

from sssa.protocol.answer import Dispatch
from sssa.protocol.dispatch_record import Dispatch as Stored
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.store import open_store

pytestmark = pytest.mark.attack

ROUNDS = int(os.environ.get("TLS_ROUNDS", "1"))
DEADLINE_S = 4.0
WAYS = ("group", "retry", "flood", "held")


@dataclass
class Front:
    """A miner's port, behind which its honest server is until `turned`; then it is another one, one time in two.

    A miner that fails more often is no longer asked.

    Attributes:
        honest: port of the honest server.
        hostile: port of the other one; None: the connection is held open.
        wait: awaited before anything of such a connection is passed on.
    """

    honest: int
    hostile: int | None = None
    turned: bool = False
    turns: Iterator[bool] = field(default_factory=lambda: cycle((True, False)))
    wait: Callable[[], Awaitable[object]] | None = None
    listener: socket.socket = field(default_factory=socket.socket)
    serving: asyncio.Future[None] | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self) -> None:
        """Pass connections on until cancelled."""
        try:
            while True:
                peer, _ = await asyncio.get_running_loop().sock_accept(self.listener)
                task = asyncio.ensure_future(self._pass_on(peer))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
        finally:
            for task in self.tasks:
                task.cancel()

    @contextmanager
    def dropping(self) -> Iterator[None]:
        """Let the kernel drop what wants to connect: nobody accepts, and the queue is full."""
        assert self.serving is not None
        self.serving.cancel()
        with ExitStack() as stack:
            for _ in range(4):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(self.listener.getsockname())
            yield

    async def _pass_on(self, peer: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=peer)
        try:
            port: int | None = self.honest
            if self.turned and next(self.turns):
                if self.wait is not None:
                    await self.wait()
                port = self.hostile
            if port is None:
                await hostile_tls.holding(reader, writer)
                return
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_copy(reader, back_writer), _copy(back_reader, writer))
        except OSError:
            pass  # somebody has gone
        finally:
            writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def fronted(miners: Miners, number: int, *, tls: bool) -> AsyncIterator[Front]:
    """Put a front before a miner; it speaks TLS."""
    hotkey = miners.signers[number].hotkey
    runner = miners.runners[number]
    site = web.TCPSite(runner, "127.0.0.1", port := free_port(), ssl_context=hostile_tls.context() if tls else None)
    await site.start()
    front = Front(port)
    front.listener.bind(("127.0.0.1", 0))
    front.listener.listen(1)
    front.listener.setblocking(False)
    miners.axons[hotkey] = Axon("127.0.0.1", front.listener.getsockname()[1], tls)
    front.serving = asyncio.ensure_future(front.serve())
    try:
        yield front
    finally:
        front.serving.cancel()
        await asyncio.gather(front.serving, *front.tasks, return_exceptions=True)
        front.listener.close()


@asynccontextmanager
async def hostile_port(way: str, folder: Path) -> AsyncIterator[int | None]:
    if way == "held":
        yield None
        return
    make = {"group": lambda: hostile_tls.own_group(folder), "retry": hostile_tls.retried, "flood": hostile_tls.context}
    server = await asyncio.start_server(hostile_tls.flooding, "127.0.0.1", 0, ssl=make[way]())
    yield server.sockets[0].getsockname()[1]
    server.close()


def site_of(folder: Path, url: str, miners: Miners) -> Site:
    site = Site(folder, url, miners, Windows((0, DEADLINE_S), (0, DEADLINE_S)), health_port=free_port())
    site.config.write_text(site.config.read_text().replace("[rounds]", "[rounds]\nconnect_timeout_s = 3.0"))
    return site


async def stored(site: Site, rounds: int) -> tuple[list[Stored], float]:
    """The dispatches of the first rounds, and the longest stall in them."""
    async with open_store(site.store_url) as store, store.read() as tx:
        found = [one for round_id in range(rounds) for one in await tx.dispatches.of_round(round_id)]
        stalls = [stall.seconds for round_id in range(rounds) for stall in await tx.stalls.of_round(round_id)]
    return found, max(stalls, default=0.0)


def ends_of(dispatches: list[Stored], hotkey: str) -> Counter[tuple[str, str]]:
    return Counter((str(one.state), str(one.reason)) for one in dispatches if one.key.hotkey == hotkey)


@pytest.mark.parametrize("way", WAYS)
async def test_hostile_tls_costs_its_miner_and_nobody_else(way: str, sqlite_url: str, tmp_path: Path) -> None:
    miners = Miners(7)
    await miners.start()
    async with fronted(miners, 0, tls=True) as front, hostile_port(way, tmp_path) as front.hostile:
        site = site_of(tmp_path, sqlite_url, miners)
        async with site.forked() as daemon:
            await until(lambda: site.logged("capabilities_refreshed") > 0, site)
            front.turned = True
            before = site.logged("round_settled") + 1  # one may have begun
            began = time.monotonic()
            await until(lambda: site.logged("round_settled") >= before + ROUNDS, site, 300)
            took = time.monotonic() - began
            lag = lag_of(await metrics_of(site.health_port))
            daemon.terminate()
            await daemon.wait()
        found, stall = await stored(site, before + ROUNDS)
    await miners.close()
    mine, others = ends_of(found, miners.signers[0].hotkey), Counter[str]()
    for signer in miners.signers[1:]:
        others += Counter(state for state, _ in ends_of(found, signer.hotkey).elements())
    print(f"{way}: {mine} in {took:.1f} s; others {dict(others)}; longest stall {stall:.2f} s; {lag}")  # noqa: T201 - the figures
    assert {state for state, _ in mine} == {"answered", "failed"}
    assert sum(count for (state, _), count in mine.items() if state == "failed") >= 2 * ROUNDS
    assert set(others) == {"answered"}
    assert stall < 1.0


class SecondKey:
    """Answers of a key whose partner holds its handshakes until the tasks are read; everybody else is honest."""

    def __init__(self, hotkey: str) -> None:
        self.hotkey = hotkey
        self.turned = False
        self.ways = cycle(("500", "honest", "silent", "honest", "late", "honest", "cut off", "honest"))
        self.requested = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the tasks, as the partner does."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.requested.wait(), 1.0)

    async def __call__(self, signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes | web.StreamResponse:
        if signer.hotkey != self.hotkey or not self.turned:
            return await honest(signer, dispatch, request)
        self.requested.set()
        way = next(self.ways)
        if way == "cut off" and request.transport is not None:
            request.transport.abort()
        await asyncio.sleep({"late": DEADLINE_S + 0.1, "silent": 60.0}.get(way, 0.0))
        return web.Response(status=500) if way == "500" else await honest(signer, dispatch, request)


async def test_of_two_keys_both_are_charged(sqlite_url: str, tmp_path: Path) -> None:
    """One key holds its dear handshakes until the other has read its tasks, which then does not answer."""
    miners = Miners(7)
    await miners.start()
    first, second = (signer.hotkey for signer in miners.signers[:2])
    miners.answerer = partner = SecondKey(second)
    async with (
        fronted(miners, 0, tls=True) as front,
        fronted(miners, 1, tls=False) as other,
        hostile_port("group", tmp_path) as front.hostile,
    ):
        front.wait = partner.wait
        site = site_of(tmp_path, sqlite_url, miners)
        async with site.forked() as daemon:
            await until(lambda: site.logged("capabilities_refreshed") > 0, site)
            front.turned = partner.turned = True
            await until(lambda: site.logged("round_settled") >= 1 + ROUNDS, site, 300)
            dropped = site.logged("round_settled")
            with other.dropping():
                await until(lambda: site.logged("round_settled") >= dropped + 2, site, 300)
            daemon.terminate()
            await daemon.wait()
        found, stall = await stored(site, site.logged("round_settled"))
    await miners.close()
    ends = {hotkey: ends_of(found, hotkey) for hotkey in (first, second)}
    others = Counter(str(one.state) for one in found if one.key.hotkey not in ends)
    print(f"{ends}; others {dict(others)}; longest stall {stall:.2f} s")  # noqa: T201 - the figures
    assert {state for its in ends.values() for state, _ in its} == {"answered", "failed"}
    reasons = {reason for _, reason in ends[second]}
    assert reasons >= {"deadline_status", "deadline_late", "deadline_transport", "deadline_connect"}
    assert set(others) == {"answered"}
