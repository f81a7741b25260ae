"""A weights loop against a simulated subnet on virtual time, with the real store."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from state_kit import enter_scores
from virtual_time import all_wait_for_time, in_the_store, in_threads

from validator.chain.simulated import SimulatedChain
from validator.chain.subnet import SimulatedSubnet, SubnetRules
from validator.health.board import Board
from validator.protocol.signatures import Signer
from validator.settings.model import WeightsSettings
from validator.sources import SeededRandom, VirtualClock
from validator.store import Store
from validator.store.rows import WeightsRecord
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.watch import WeightsLock

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = "//Weights"
SIGNER = Signer.from_uri(KEY)
ME, OWNER = SIGNER.hotkey, "Owner"
MINERS = [f"miner{n}" for n in range(8)]
NOWHERE = Path(tempfile.gettempdir()) / "no such folder" / "stop-file"
TEMPO = 19  # epochs of 20 blocks: 0-19, 20-39, …
BEFORE_END = 5
SETTINGS: dict[str, Any] = {"blocks_before_epoch_end": BEFORE_END, "timeout_s": 3.0, "valid_blocks": 4}


@dataclass
class World:
    clock: VirtualClock
    subnet: SimulatedSubnet
    chain: SimulatedChain
    store: Store
    log: list[MutableMapping[str, Any]]
    metrics: Metrics
    settings: WeightsSettings
    stop_file: Path
    service: WeightService = field(init=False)
    mechid: int = 0
    signing: asyncio.Lock | None = None
    sleepers: int = 1  # that mean calm: a wait for a block has two, its own and its time limit
    task: asyncio.Task[None] | None = None
    sent: list[int] = field(default_factory=list)  # the block of each submission that reached the subnet
    board: Board = field(init=False)

    def conditions(self) -> dict[str, str]:
        """Return the active conditions with their details."""
        return {one.condition.name: one.detail for one in self.board.active()}

    async def until_block(self, number: int) -> None:
        """Let the clock run to the block, and everything that follows from each block happen before the next."""
        await self.calm()
        while self.subnet.blocks.number() < number:
            await self.clock.advance(1.0)
            await self.calm()

    async def calm(self) -> None:
        """Return once the service waits for the clock and for nothing else."""
        assert self.task is not None
        threads = in_threads()
        await all_wait_for_time(lambda: threads or in_the_store(self.store))
        while not self.task.done() and sum(not wake.done() for *_, wake in self.clock._sleepers) < self.sleepers:
            await asyncio.sleep(0.001)
            await all_wait_for_time(lambda: threads or in_the_store(self.store))

    async def records(self) -> list[WeightsRecord]:
        async with self.store.read() as tx:
            return list(reversed(await tx.weights.listing(100)))

    def events(self, *names: Event) -> list[MutableMapping[str, Any]]:
        return [line for line in self.log if not names or line["event"] in names]

    def reasons(self) -> list[str]:
        return [line["reason"] for line in self.events(Event.WEIGHTS_BLOCKED)]


async def give_scores(
    store: Store,
    subnet: SimulatedSubnet,
    scores: dict[str, float],
    round_id: int = 0,
    skill_type: str = "declarative",
) -> None:
    """Fill windows as of a void round in which all of them declared the type."""
    async with store.begin() as tx:
        await enter_scores(tx, subnet.snapshot(), ME, scores, START, round_id=round_id, skill_type=skill_type)


def build(
    store: Store,
    *,
    settings: dict[str, Any] | None = None,
    chain: Callable[..., Any] | None = None,
    stop_file: Path = NOWHERE,
    **rules: Any,
) -> World:
    clock = VirtualClock(START)
    given = {"tempo": TEMPO, "weights_rate_limit": 10, "min_stake_tao": 50.0, "owner_hotkey": OWNER, **rules}
    subnet = SimulatedSubnet.create(
        SubnetRules(seed="w", genesis=int(START.timestamp()), block_time_s=1.0, **given), clock
    )
    subnet.register(ME, stake_tao=100.0, validator_permit=True)
    subnet.register(OWNER)
    for hotkey in MINERS:
        subnet.register(hotkey)
    connection = (chain or SimulatedChain)(subnet, ME)
    metrics = Metrics(clock, "0")
    chosen = WeightsSettings(**{**SETTINGS, **(settings or {})})
    world = World(clock, subnet, connection, store, [], metrics, chosen, stop_file)
    take = subnet.submit

    def counting(*args: Any, **kwargs: Any) -> Any:
        world.sent.append(subnet.blocks.number())
        return take(*args, **kwargs)

    subnet.submit = counting  # type: ignore[method-assign]
    return restarted(world)


async def scored(store: Store, scores: dict[str, float], **given: Any) -> World:
    """Return a world, as of `build`, in which miners have these scores."""
    world = build(store, **given)
    await give_scores(store, world.subnet, scores)
    return world


def restarted(world: World) -> World:
    """The same world with a new service, as after a restart."""
    world.board = Board(world.clock)
    world.service = WeightService(
        store=world.store,
        chain=world.chain,
        clock=world.clock,
        signer=SIGNER,
        random=SeededRandom("weights"),
        netuid=1,
        mechid=world.mechid,
        kinds=mechanisms(world.settings)[world.mechid],
        settings=world.settings,
        lock=WeightsLock(world.store, world.clock, world.stop_file),
        signing=world.signing,
        metrics=world.metrics,
        board=world.board,
    )
    return world


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
    with structlog.testing.capture_logs() as log:
        world.log = log
        world.task = asyncio.create_task(world.service.run())
        try:
            yield world
        finally:
            world.task.cancel()
            await asyncio.gather(world.task, return_exceptions=True)


async def run_until(world: World, block: int) -> None:
    """Let the service run from now to the block."""
    async with running(world):
        await world.until_block(block)


def blocks(records: Iterable[WeightsRecord]) -> list[tuple[int, str, int | None]]:
    return [(record.epoch, record.state, record.block) for record in records]
