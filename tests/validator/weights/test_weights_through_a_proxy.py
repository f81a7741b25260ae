"""The guard over real sockets: whatever the connection does, an epoch gets one submission, and the log says so."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from chain_worlds import ME, ServedWorld
from rpc_proxy import ANY, HEADS, NONCE, SUBMIT, Message, Rule
from structlog.testing import capture_logs
from weights_world import NOWHERE, give_scores

from sssa.sources import SystemRandom
from validator.settings.model import WeightsSettings
from validator.store import Store, open_store
from validator.store.rows import WeightsRecord
from validator.telemetry import Event
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.watch import WeightsLock

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("sdk_home")]
Log = list[MutableMapping[str, Any]]


class Case(NamedTuple):
    """Behavior of the connection, and the expected observations.

    Attributes:
        rules: of the proxy, until the first of them was met and the validator has reported it.
        reported: the event that tells it, and its reason.
        arrives: whether that submission reaches a block; None: there is none yet.
    """

    rules: tuple[Rule, ...]
    reported: tuple[Event, str]
    arrives: bool | None


UNKNOWN = (Event.WEIGHTS_SUBMITTED, "weights_unknown")
DOWN = (Event.WEIGHTS_BLOCKED, "weights_chain_down")
CASES = {
    "cut before it is signed": Case((Rule("cut", "request", NONCE),), DOWN, None),
    "cut before the pool has it": Case((Rule("cut", "request", SUBMIT),), UNKNOWN, False),
    "dropped before the pool has it": Case((Rule("drop", "request", SUBMIT),), UNKNOWN, False),
    "cut before it is in a block": Case((Rule("cut", "answer", SUBMIT),), UNKNOWN, True),
    "cut before it is final": Case((Rule("cut", "notice", SUBMIT, status="inBlock"),), UNKNOWN, True),
    "an answer held past the limit": Case((Rule("hold", "answer", SUBMIT),), UNKNOWN, True),
    "no word of what became of it": Case((Rule("drop", "notice", SUBMIT),), UNKNOWN, True),
    "heads that never come": Case((Rule("drop", "notice", HEADS), Rule("drop", "answer", ANY)), DOWN, None),
    "a node that is away": Case((Rule("cut", "request", ANY),), DOWN, None),
}


class Loop:
    """A weights loop over a served world.

    Attributes:
        world: with epochs of 40 s, in which there is time for a second attempt on a busy machine.
        store: where submissions are written down.
        log: what it says.
    """

    def __init__(self, world: ServedWorld, store: Store, log: Log) -> None:
        self.world = world
        self.store = store
        self.log = log

    async def run(self) -> None:
        settings = WeightsSettings(blocks_before_epoch_end=390, timeout_s=5.0, valid_blocks=8)
        service = WeightService(
            store=self.store,
            chain=self.world.chain,
            clock=self.world.clock,
            signer=ME,
            random=SystemRandom(),
            netuid=1,
            mechid=0,
            kinds=mechanisms(settings)[0],
            settings=settings,
            lock=WeightsLock(self.store, self.world.clock, NOWHERE),
        )
        await service.run()

    async def record(self) -> WeightsRecord | None:
        async with self.store.read() as tx:
            rows = await tx.weights.listing(10)
        assert len(rows) <= 1
        return rows[0] if rows else None

    async def until(self, event: Event, reason: str | None = None) -> MutableMapping[str, Any]:
        while True:
            for line in self.log:
                if line["event"] == event and reason in (None, line.get("reason")):
                    return line
            await asyncio.sleep(0.02)

    async def confirmed(self) -> WeightsRecord:
        while True:
            record = await self.record()
            if record is not None and record.state == "confirmed":
                return record
            await asyncio.sleep(0.02)


@asynccontextmanager
async def looping(url: str) -> AsyncIterator[Loop]:
    world = await ServedWorld.open("", {"tempo": 400})
    try:
        async with open_store(url) as store:
            await give_scores(store, world.subnet, {world.miners[1]: 1.0})
            with capture_logs() as log:
                yield Loop(world, store, log)
    finally:
        await world.close()


@pytest.mark.parametrize("name", CASES)
async def test_an_epoch_is_served_once_whatever_the_connection_does(sqlite_url: str, name: str) -> None:
    case = CASES[name]
    async with looping(sqlite_url) as loop:
        world, proxy = loop.world, loop.world.proxy
        await world.chain.head()
        rules = [proxy.rule(r.action, r.kind, r.method, status=r.status) for r in case.rules]
        running = asyncio.create_task(loop.run())
        try:
            reported = await asyncio.wait_for(loop.until(*case.reported), 20.0)
            lost = await loop.record()
            assert any(rule.hits for rule in rules)
            proxy.mend()
            record = await asyncio.wait_for(loop.confirmed(), 25.0)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        (sent,) = world.server.submitted
        assert record.block == sent.block + 1
        assert await world.chain.last_update(0, 0) == record.block
        assert await world.chain.weights(0, 0) == record.sent
        if case.arrives:
            assert (record.attempts, record.extrinsic) == (reported["attempt"], None)
            await loop.until(Event.WEIGHTS_CONFIRMED_LATE)
        elif case.arrives is False:
            assert lost is not None
            assert lost.signed_block is not None
            assert lost.lifetime is not None
            assert sent.block > lost.signed_block + lost.lifetime
            await loop.until(Event.WEIGHTS_EXPIRED)
        else:
            await loop.until(Event.WEIGHTS_UNBLOCKED)
        # What connects anew sends nothing again.
        assert proxy.seen.count(Message("request", SUBMIT)) == (2 if case.arrives is False else 1)
