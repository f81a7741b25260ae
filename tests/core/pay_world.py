"""Rounds of one type under 1.0.0 and the weights loop over the same store: what anyone who does what is paid next."""

import asyncio
from dataclasses import replace
from typing import Any

import structlog
from explained import HOTKEYS, NUMBERS, ExplainedWorld
from weights_world import NOWHERE
from world import VALIDATOR, honest, tasks_of_all_types

from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Dispatch
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.scoring import Schedule
from validator.settings.model import WeightsSettings
from validator.sources import SeededRandom
from validator.store import Store
from validator.store.rows import UnpaidWindow
from validator.store.vector_inputs import basis_now
from validator.tasks.source import MemorySource
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.watch import WeightsLock

KIND = SkillType.DECLARATIVE
TEMPO = 9_999  # blocks of a second
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
        self.world = ExplainedWorld(store, MemorySource(tasks), self._answer, self.declared, tempo=TEMPO)
        self.world.preparer = replace(self.world.preparer, schedule=Schedule({version: 0}))
        settings = WeightsSettings(dry_run=True, blocks_before_epoch_end=TEMPO)
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
        epoch = blocks.number() // (TEMPO + 1)
        await self.world.clock.advance((epoch + 1) * (TEMPO + 1) + 1 - blocks.number())
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
