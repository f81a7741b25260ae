"""A real `validator run` in its own process, with miners of the test's over loopback HTTP."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest
from aiohttp import web
from fork_start import Forked, ran
from world import VALIDATOR, answer_to, tasks_of_all_types

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.answer import Dispatch
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES
from sssa.protocol.sssa import Signature
from sssa.protocol.task import Windows
from sssa.protocol.times import format_time
from sssa.sources import SystemClock
from taskmaker.packing import write_task

PROGRAM = (sys.executable, "-c", "from validator.cli import main; main()")
Answerer = Callable[[Signer, Dispatch, web.Request], Awaitable[bytes | web.StreamResponse]]


async def honest(signer: Signer, dispatch: Dispatch, _request: web.Request) -> bytes:
    return msgspec.json.encode(answer_to(signer, dispatch))


class Registered(Protocol):
    """Neuron registered on chain with an address."""

    axons: dict[str, Axon]


class Miners:
    """Miners on free ports; `answerer`, and which images they declare by hotkey, may be changed while they run.

    Args:
        count: how many.
        host: where they listen.
    """

    def __init__(self, count: int = 6, host: str = "127.0.0.1") -> None:
        self.host = host
        self.signers = [Signer.from_uri(f"//Miner//{number}") for number in range(count)]
        self.answerer: Answerer = honest
        self.axons: dict[str, Axon] = {}
        self.runners: list[web.AppRunner] = []

    async def start(self) -> None:
        for signer in self.signers:
            app = web.Application(client_max_size=16 * 1024 * 1024)
            app.router.add_get("/v1/capabilities", self._capabilities(signer))
            app.router.add_post("/v1/assessments", self._assess(signer))
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, self.host, 0).start()
            self.runners.append(runner)
            self.axons[signer.hotkey] = Axon(self.host, runner.addresses[0][1])

    async def close(self) -> None:
        for runner in self.runners:
            await runner.cleanup()

    def _capabilities(self, signer: Signer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(_: web.Request) -> web.Response:
            now = datetime.now(UTC)
            document = Capabilities(
                "1.0",
                signer.hotkey,
                ASSESSED_TYPES,
                "test",
                format_time(now),
                format_time(now + timedelta(hours=12)),
                Signature(signer.hotkey, "sr25519", "0x" + "0" * 128),
            )
            return web.Response(body=msgspec.json.encode(signer.sign_document(document)))

        return handle

    def _assess(self, signer: Signer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            dispatch = msgspec.json.decode(await request.read(), type=Dispatch)
            answer = await self.answerer(signer, dispatch, request)
            return web.Response(body=answer) if isinstance(answer, bytes) else answer

        return handle


class Held:
    """Miners that are asked and do not answer until they are let go; then they answer honestly."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.release = asyncio.Event()

    async def __call__(self, signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        self.requested.set()
        await self.release.wait()
        return await honest(signer, dispatch, request)


class Site:
    """Everything a daemon needs on disk: settings, chain file, tasks.

    Args:
        folder: where all of it is kept.
        store_url: of its database.
        miners: who is registered.
        windows: of every task.
        health_port: where it tells of itself; 0: anywhere.
        refresh_s: how often miners are asked what they can do.
        goals: workflow tasks, as documents.
        each: tasks of each type: a round of fewer is sooner over.

    Attributes:
        config: its settings.
        log: where the daemons write.
        store_url: its database.
    """

    def __init__(  # noqa: PLR0913 - what tests vary
        self,
        folder: Path,
        store_url: str,
        miners: Registered,
        windows: Windows,
        health_port: int = 0,
        *,
        refresh_s: float = 900.0,
        goals: Sequence[Mapping[str, Any]] = (),
        each: int = 2,
    ) -> None:
        self.config = folder / "validator.toml"
        self.log = folder / "daemon.log"
        self.store_url = store_url
        self.health_port = health_port
        clock = SystemClock()
        rules = SubnetRules(seed="t", genesis=int(clock.now().timestamp()), block_time_s=0.5, tempo=20)
        subnet = SimulatedSubnet.create(rules, clock, folder / "chain.json")
        subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
        for hotkey, axon in miners.axons.items():
            subnet.register(hotkey, axon=axon)
        for number, task in enumerate(tasks_of_all_types(windows, each)):
            write_task(task, folder / "tasks" / f"{number:02}")
        for number, goal in enumerate(goals):
            (folder / "tasks" / f"goal{number}").mkdir()
            (folder / "tasks" / f"goal{number}" / "workflow.json").write_text(json.dumps(goal))
        self.config.write_text(
            f"""
[validator]
netuid = 1
[wallet]
uri = "//Validator"
[chain]
kind = "simulated"
state = "{folder}/chain.json"
[store]
url = "{store_url}"
[rounds]
interval_s = 0.2
grace_s = 20.0
capabilities_refresh_s = {refresh_s}
[tasks]
directory = "{folder}/tasks"
canaries = false
[miners]
allow_private_axons = true
[health]
port = {health_port}
[log]
format = "json"
level = "debug"
"""
        )

    def logged(self, event: str) -> int:
        """Return how many times the daemons have logged this event."""
        return self.log.read_text().count(f'"{event}"')

    async def output_of(self, *arguments: str) -> str:
        """Return the output of a command on this site, which must succeed."""
        done = await asyncio.to_thread(ran, *arguments, "--config", str(self.config), timeout=300)
        assert done.returncode == 0, done.stderr + done.stdout[-3000:]
        return done.stdout

    @asynccontextmanager
    async def forked(self) -> AsyncIterator[Forked]:
        """A running daemon, forked of a process that has loaded it; killed at the end if it still runs."""
        with self.log.open("ab") as log:
            process = Forked("run", "--config", str(self.config), out=log)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    @asynccontextmanager
    async def daemon(self, environment: Mapping[str, str] | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
        """A running daemon, from the start of its program on; killed at the end if it still runs.

        `environment` is added to this process's.
        """
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *PROGRAM,
                "run",
                "--config",
                str(self.config),
                stdout=log,
                stderr=log,
                start_new_session=True,  # its own: `process_watch.gone` looks for what is left of it
                env=os.environ | dict(environment or {}),
            )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def until(condition: Callable[[], bool | Awaitable[bool]], site: Site, seconds: float = 60) -> float:
    """Wait for the thing itself; return how long that took. If it does not come the daemon's log says why."""
    began = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(seconds):
            while not (seen if isinstance(seen := condition(), bool) else await seen):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(site.log.read_text()[-6000:])
    return asyncio.get_running_loop().time() - began


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
