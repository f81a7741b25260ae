"""A validator's surroundings for `validator doctor`: settings in a folder, nodes, engines and servers on loopback."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from wallet_files import write_hotkey

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.signatures import Signer
from sssa.sources import SystemClock
from validator.daemon.world import judging_workers
from validator.health.catalogue import CATALOGUE
from validator.health.doctor import Diagnosis, Finding, Limits, diagnose

ME = Signer.from_uri("//Validator")
QUICK = Limits(fresh_block=0.3)


@dataclass
class Place:
    """An operator's folder with settings; keys are changed before it is examined."""

    folder: Path
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    text: str | None = None

    @classmethod
    def made(cls, folder: Path) -> "Place":
        """A registered validator on a simulated chain, with nothing wrong but that it has no tasks."""
        place = cls(folder)
        (folder / "tasks").mkdir()
        place.settings = {
            "validator": {"netuid": 1},
            "wallet": {"path": f"{folder}/wallets"},
            "chain": {"kind": "simulated", "state": f"{folder}/chain.json"},
            "store": {"url": f"sqlite:///{folder}/validator.sqlite"},
            "tasks": {"directory": f"{folder}/tasks"},
            "health": {"port": 0},
        }
        write_hotkey(folder / "wallets", ME)
        (folder / "wallets" / "default" / "hotkeys" / "default").chmod(0o600)
        return place

    def subnet(
        self, *, registered: bool = True, permit: bool = True, stake: float = 100.0, **rules: Any
    ) -> SimulatedSubnet:
        """The simulated subnet; this validator is on it."""
        clock = SystemClock()
        base = SubnetRules(seed="doctor", genesis=int(clock.now().timestamp()) - 3600, **rules)
        subnet = SimulatedSubnet.create(base, clock, self.folder / "chain.json")
        if registered:
            subnet.register(ME.hotkey, stake_tao=stake, validator_permit=permit)
        return subnet

    def on(self, *endpoints: str) -> None:
        """Name endpoints of the real chain."""
        self.settings["chain"] = {"endpoints": list(endpoints)}

    def write(self) -> Path:
        config = self.folder / "validator.toml"
        config.write_text(self.text if self.text is not None else _toml(self.settings))
        return config

    async def examined(self, *only: str, limits: Limits = QUICK) -> Diagnosis:
        """Examine it; a finding that names a condition is of a check that the condition's entry names."""
        diagnosis = await diagnose(self.write(), self.environ, judging_workers, only, limits)
        for one in diagnosis.examined:
            for finding in one.findings:
                assert not finding.condition or one.check in CATALOGUE[finding.condition].checks, finding
        return diagnosis


def _toml(settings: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for section, values in settings.items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def findings(diagnosis: Diagnosis) -> list[Finding]:
    return [finding for one in diagnosis.examined for finding in one.findings]


def of_status(diagnosis: Diagnosis, status: str) -> list[Finding]:
    return [one for one in findings(diagnosis) if one.status == status]


@dataclass
class FakeNode:
    """Node with scripted self-description; `instead` overrides single methods."""

    chain: str = "Bittensor"
    spec: str = "node-subtensor"
    genesis: str = "0x" + "11" * 32
    height: int = 1_000
    ahead_s: float = 0.0  # of the newest block's time, against this machine's clock
    syncing: bool = False
    hashes: dict[int, str] = field(default_factory=dict)
    replaced: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, method: str, params: list[Any]) -> Any:
        if method in self.replaced:
            return self.replaced[method]
        if method == "chain_getBlockHash":
            number = params[0] if params else self.height
            if number == 0:
                return self.genesis
            return self.hashes.get(number, "0x" + f"{number:064x}") if number <= self.height else None
        return {
            "system_chain": self.chain,
            "system_health": {"isSyncing": self.syncing, "peers": 3},
            "state_getRuntimeVersion": {"specName": self.spec, "specVersion": 424},
            "chain_getHeader": {"number": hex(self.height)},
            "chain_subscribeNewHeads": "heads",
            "state_getStorage": "0x" + int((time.time() + self.ahead_s) * 1000).to_bytes(8, "little").hex(),
        }.get(method)


@asynccontextmanager
async def node(fake: FakeNode | None = None) -> AsyncIterator[str]:
    """A websocket that answers as the node does; yields its url."""
    known = fake or FakeNode()

    async def speak(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            call = json.loads(message.data)
            known_call = call["method"] == "chain_getBlockHash"
            result = known.answer(call["method"], call["params"])
            refused = {"error": {"code": -32601, "message": "Method not found"}}
            answer = {"result": result} if result is not None or known_call else refused
            await socket.send_json({"jsonrpc": "2.0", "id": call["id"]} | answer)
            if call["method"] == "chain_subscribeNewHeads":
                await socket.send_json({"jsonrpc": "2.0", "method": "chain_newHead", "params": {}})
        return socket

    async with site(speak) as port:
        yield f"ws://127.0.0.1:{port}"


@asynccontextmanager
async def site(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[int]:
    """An HTTP server on loopback; yields its port."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listening(greeting: bytes | None) -> AsyncIterator[int]:
    """A port that says something and closes, or takes everything and says nothing."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if greeting is None:
            await reader.read()
        else:
            writer.write(greeting)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
