"""Weights loops on virtual time over the real store: on a subnet alone, and next to rounds (`PayWorld`)."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from explained import HOTKEYS, NUMBERS, ExplainedWorld
from state_kit import enter_scores
from virtual_time import all_wait_for_time, in_the_store, in_threads
from world import VALIDATOR, honest, tasks_of_all_types

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.scoring import Schedule
from sssa.sources import SeededRandom, VirtualClock
from validator.health.board import Board
from validator.miners.scripted import ScriptedReply
from validator.settings.model import WeightsSettings
from validator.store import Store
from validator.store.rows import UnpaidWindow, WeightsRecord
from validator.store.vector_inputs import basis_now
from validator.tasks.source import MemorySource
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


KIND = SkillType.DECLARATIVE
PAY_TEMPO = 9_999  # blocks of a second
BROKEN = ScriptedReply(b"", status=500, seconds=0.5)
FAILING, WITHDRAWN = 0, 1
_MINERS = 5


class PayWorld:
    """Five miners, so that everybody who may be drawn is; two tasks a round, both of one type."""

    def __init__(self, store: Store, version: str = "1.0.0") -> None:
        self.store = store
        self.odd: dict[str, ScriptedReply] = {}  # what a miner answers instead
        self.hotkeys = HOTKEYS[:_MINERS]
        self.declared: dict[int, tuple[SkillType, ...]] = dict.fromkeys(range(_MINERS), (KIND,))
        tasks = [task for task in tasks_of_all_types() if task.task.skill_type is KIND]
        self.world = ExplainedWorld(store, MemorySource(tasks), self._answer, self.declared, tempo=PAY_TEMPO)
        self.world.preparer = replace(self.world.preparer, schedule=Schedule({version: 0}))
        settings = WeightsSettings(dry_run=True, blocks_before_epoch_end=PAY_TEMPO)
        self.metrics = Metrics(self.world.clock, "0")
        self.service = WeightService(
            store=store,
            chain=self.world.chain,
            clock=self.world.clock,
            signer=VALIDATOR,
            random=SeededRandom("pay"),
            netuid=1,
            mechid=0,
            kinds=mechanisms(settings)[0],
            settings=settings,
            lock=WeightsLock(store, self.world.clock, NOWHERE),
            metrics=self.metrics,
        )

    def _answer(self, signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return self.odd.get(signer.hotkey) or honest(signer, dispatch)

    def declare(self, hotkey: str, *types: SkillType) -> None:
        """Let a miner declare these types from the next round on."""
        self.declared[NUMBERS[hotkey]] = types

    async def rounds(self, count: int = 1) -> None:
        """Play so many rounds, every declaration asked for again before each."""
        for _ in range(count):
            await self.world.play()

    async def vector(self) -> dict[str, Any]:
        """Let the next epoch come and return the line of its vector."""
        blocks = self.world.subnet.blocks
        epoch = blocks.number() // (PAY_TEMPO + 1)
        await self.world.clock.advance((epoch + 1) * (PAY_TEMPO + 1) + 1 - blocks.number())
        return await self.line(Event.WEIGHTS_PLANNED)

    async def line(self, event: Event) -> dict[str, Any]:
        """Return what the weights loop logs at this block, the clock standing still."""
        with structlog.testing.capture_logs() as log:
            step = asyncio.create_task(self.service.step())
            while not step.done() and not any(line["event"] == event for line in log):
                await asyncio.wait([step], timeout=0.001)
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
        (line,) = [line for line in log if line["event"] == event]
        return dict(line)

    async def reason(self, hotkey: str) -> str | None:
        """Return the reason why the next vector does not pay the miner; None if it pays at least as much as before."""
        line = await self.vector()
        found: str | None = line["unpaid"].get(hotkey, {}).get(str(KIND))
        assert (hotkey in line["weights"]) == (found is None)
        assert set(line["weights"]) | set(line["unpaid"]) >= set(self.hotkeys)
        return found

    async def unpaid(self) -> tuple[UnpaidWindow, ...]:
        """Return the windows that would be unpaid now."""
        async with self.store.read() as tx:
            basis = await basis_now(tx, 0)
        return basis.unpaid(
            basis.version.mechanism_weights(basis.windows, mechanisms(WeightsSettings())[0], basis.standing)
        )


async def unpaid(store: Store) -> ExplainedWorld:
    """Two epochs in which one miner's answers fail and another declares another type."""
    world = PayWorld(store)
    await world.rounds(2)
    await world.vector()
    world.odd[HOTKEYS[FAILING]] = BROKEN
    world.declare(HOTKEYS[WITHDRAWN], SkillType.MCP_SERVER)
    await world.rounds(3)
    await world.vector()
    await world.rounds()
    return world.world
