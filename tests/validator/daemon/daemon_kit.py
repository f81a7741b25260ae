"""A whole daemon on virtual time over a simulated subnet, without miners; its health endpoint is real."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import msgspec
import structlog
from inline_sqlite import handles
from state_kit import enter_scores
from subtensor_node import Node
from virtual_time import all_wait_for_time, in_the_store, in_threads
from workflow_builders import ScriptedServices
from world import VALIDATOR, few_tasks
from world import World as Crowd

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.times import format_time
from sssa.sources import Clock, SeededRandom, VirtualClock
from validator.chain.bittensor import BittensorChain
from validator.chain.interface import Chain
from validator.daemon.assembly import assembled
from validator.daemon.daemon import Daemon
from validator.daemon.signals import Stop
from validator.daemon.watches import LoopWatch
from validator.daemon.world import World, http_clients
from validator.health.endpoint import HealthService
from validator.settings.model import Settings
from validator.store.rows import WeightsRecord
from validator.tasks.goals import MemoryGoals
from validator.tasks.source import MemorySource
from validator.telemetry.metrics import Metrics
from validator.workers.interface import Here

BLOCK_S = 12.0
TEMPO = 9  # epochs of 10 blocks: 0-9, 10-19, …
BEFORE_END = 4  # weights go at block 5 of each
MINERS = [f"miner{number}" for number in range(8)]
STEP_S = 0.5
UNASKED = SkillType.RAG_KNOWLEDGE


@dataclass
class Running:
    """A running daemon; `log` grows."""

    clock: VirtualClock
    subnet: SimulatedSubnet
    chain: Any  # a SimulatedChain with its faults, or the SDK's
    daemon: Daemon
    metrics: Metrics
    log: list[MutableMapping[str, Any]]
    task: asyncio.Task[bool]
    threads: set[asyncio.Future[Any]]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until the thing exists; never while the daemon waits for its database or a thread."""
        async with asyncio.timeout(120):
            while not condition():
                assert not self.task.done(), self.task
                await self._calm()
                await self.clock.advance(STEP_S)

    async def _calm(self) -> None:
        await all_wait_for_time(lambda: self.threads or in_the_store(self.daemon.store))

    async def until_block(self, number: int) -> None:
        await self.until(lambda: self.subnet.blocks.number() >= number)

    async def weights(self) -> list[WeightsRecord]:
        async with self.daemon.store.read() as tx:
            return list(reversed(await tx.weights.listing(100)))

    async def health(self) -> Any:
        return (await self.readyz())[1]

    @property
    def address(self) -> tuple[str, int]:
        """Return the address of the health endpoint."""
        return next(service for service in self.daemon.services if isinstance(service, HealthService)).address

    async def readyz(self) -> tuple[int, Any]:
        host, port = self.address
        async with aiohttp.ClientSession() as session, session.get(f"http://{host}:{port}/readyz") as response:
            return response.status, await response.json()

    def events(self, name: str) -> list[MutableMapping[str, Any]]:
        return [line for line in self.log if line["event"] == name]


def settings_for(store_url: str, **rounds: Any) -> Settings:
    return Settings.model_validate(
        {
            "validator": {"netuid": 1},
            "chain": {"kind": "simulated"},
            "store": {"url": store_url},
            "rounds": {"interval_s": 20.0, **rounds},
            "weights": {"blocks_before_epoch_end": BEFORE_END},
            "health": {"port": 0},
        }
    )


class WrongClock:
    """The daemon's clock, wrong by `off` seconds; the chain's goes right.

    Args:
        right: the chain's.
        off: seconds by which it is ahead; may be set while it runs.
    """

    def __init__(self, right: VirtualClock, off: float) -> None:
        self.right = right
        self.off = off

    def now(self) -> datetime:
        return self.right.now() + timedelta(seconds=self.off)

    def monotonic(self) -> float:
        return self.right.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self.right.sleep(seconds)


@asynccontextmanager
async def running(store_url: str, *, judges_rounds: bool = False, **rounds: Any) -> AsyncIterator[Running]:
    """A daemon over the simulated chain. It judges rounds if asked to: there is no miner, which degrades its health."""
    clock, subnet = _subnet()
    chain = SimulatedChain(subnet, VALIDATOR.hotkey)
    async with _running(store_url, clock, subnet, chain, rounds, judges_rounds=judges_rounds) as daemon:
        yield daemon


@asynccontextmanager
async def with_wrong_clock(store_url: str, off: float) -> AsyncIterator[tuple[Running, WrongClock]]:
    """A daemon whose clock is wrong by `off` seconds."""
    clock, subnet = _subnet()
    wrong = WrongClock(clock, off)
    async with _running(store_url, clock, subnet, SimulatedChain(subnet, VALIDATOR.hotkey), {}, wrong) as daemon:
        yield daemon, wrong


@asynccontextmanager
async def over_the_sdk(store_url: str, **rounds: Any) -> AsyncIterator[tuple[Running, Node]]:
    """A daemon over the real SDK and a node in memory."""
    clock, subnet = _subnet()
    node = Node(subnet, clock)
    chain = BittensorChain(
        endpoints=("ws://node.invalid",), netuid=1, signer=VALIDATOR, clock=clock, substrate=node.connect
    )
    async with _running(store_url, clock, subnet, chain, rounds) as daemon:
        yield daemon, node


@asynccontextmanager
async def with_miners(store_url: str, crowd: Crowd, **settings: Any) -> AsyncIterator[Running]:
    """A daemon whose rounds ask the miners of a world in memory; of that world only chain, tasks and miners are used.

    Args:
        store_url: of its database.
        crowd: a world without a store.
        settings: whole sections, instead of those of `settings_for`.
    """
    chosen = settings_for(store_url).model_dump(mode="python") | settings
    chosen["store"] = {"url": store_url}
    world = World(
        chain=crowd.chain,
        source=crowd.source,
        goals=MemoryGoals(),
        signer=VALIDATOR,
        clock=crowd.clock,
        random=SeededRandom("d"),
        canary=None,
        workers=Here(),
        miners=crowd.client,
        steps=ScriptedServices(crowd.clock, {}),
        handles=handles(),
    )

    async def meet(_: Daemon) -> None:
        """Find what is needed in the world."""

    async with _assembled(Settings.model_validate(chosen), world, crowd.clock, crowd.subnet, meet) as daemon:
        yield daemon


def _subnet() -> tuple[VirtualClock, SimulatedSubnet]:
    clock = VirtualClock()
    rules = SubnetRules(
        seed="d", genesis=int(clock.now().timestamp()), block_time_s=BLOCK_S, tempo=TEMPO, weights_rate_limit=2
    )
    subnet = SimulatedSubnet.create(rules, clock)
    subnet.register(VALIDATOR.hotkey, stake_tao=1000.0, validator_permit=True)
    for hotkey in MINERS:
        subnet.register(hotkey)
    return clock, subnet


@asynccontextmanager
async def _running(  # noqa: PLR0913, PLR0917 - what tests vary
    store_url: str,
    clock: VirtualClock,
    subnet: SimulatedSubnet,
    chain: Chain,
    rounds: dict[str, Any],
    own: Clock | None = None,
    *,
    judges_rounds: bool = False,
) -> AsyncIterator[Running]:
    settings = settings_for(store_url, **rounds)
    miners, steps = http_clients(settings, VALIDATOR, own or clock)
    world = World(
        chain=chain,
        source=MemorySource(few_tasks()),
        goals=MemoryGoals(),
        signer=VALIDATOR,
        clock=own or clock,
        random=SeededRandom("d"),
        canary=None,
        workers=Here(),
        miners=miners,
        steps=steps,
        handles=handles(),
    )

    async def give_scores(daemon: Daemon) -> None:
        await _give_scores(daemon, subnet)
        if not judges_rounds:
            await _declare(daemon)
            daemon.board.record_round = lambda facts: None  # type: ignore[method-assign]

    async with _assembled(settings, world, clock, subnet, give_scores) as daemon:
        yield daemon


@asynccontextmanager
async def _assembled(
    settings: Settings,
    world: World,
    clock: VirtualClock,
    subnet: SimulatedSubnet,
    prepare: Callable[[Daemon], Awaitable[None]],
) -> AsyncIterator[Running]:
    metrics, threads = Metrics(clock, "0"), in_threads()

    def observe(_logger: Any, _level: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        metrics.observe(event["event"], event)
        return event

    with structlog.testing.capture_logs(processors=[observe]) as log:
        async with assembled(settings, world, metrics) as whole:
            # What looks how late a timer comes wakes fifty times in a second: most of what such a test would do.
            daemon = replace(whole, services=[one for one in whole.services if not isinstance(one, LoopWatch)])
            await prepare(daemon)
            task = asyncio.create_task(daemon.run(stop := Stop()))
            try:
                yield Running(clock, subnet, world.chain, daemon, metrics, log, task, threads)
                stop.request()
                stop.request()
                await asyncio.wait_for(task, 30)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


async def _give_scores(daemon: Daemon, subnet: SimulatedSubnet) -> None:
    snapshot = subnet.snapshot()
    async with daemon.store.begin() as tx:
        await tx.miners.seen(snapshot)
        scores = dict.fromkeys(MINERS, 1.0)
        await enter_scores(tx, snapshot, VALIDATOR.hotkey, scores, daemon.rounds.clock.now(), skill_type=UNASKED)


async def _declare(daemon: Daemon) -> None:
    """Let all miners declare a type of which there is no task: they are paid for it, and no round asks them."""
    now = daemon.rounds.clock.now()
    until = now + timedelta(days=365)
    async with daemon.store.begin() as tx:
        for hotkey in MINERS:
            signature = Signature(hotkey, "sr25519", "0x" + "0" * 128)
            document = Capabilities("1.0", hotkey, (UNASKED,), "test", format_time(now), format_time(until), signature)
            await tx.capabilities.put(hotkey, msgspec.json.encode(document), now, until, now)
