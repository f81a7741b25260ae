"""The log's newest digest onto the chain: once a day, far from weights, never twice, never over what is not ours."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.receipt import Anchor, anchor_of
from sssa.protocol.signatures import Signer
from sssa.sources import SeededRandom, VirtualClock
from validator.cancellation import within
from validator.chain.interface import MissingError
from validator.settings.model import WeightsSettings
from validator.store import Store, open_store
from validator.store.log import append, commitments, open_log
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics
from validator.weights.anchoring import EVERY_BLOCKS, ROOM_BLOCKS, AnchorService
from validator.weights.watch import WeightsLock

START = datetime(2026, 1, 1, tzinfo=UTC)
SIGNER = Signer.from_uri("//Anchor")
TEMPO = 359
SETTINGS = WeightsSettings(blocks_before_epoch_end=20, valid_blocks=4)
LIFETIME = 4


@dataclass
class World:
    """An anchor's service on a simulated subnet, stepped by hand; blocks have 12 s."""

    store: Store
    file: Path
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))
    signing: asyncio.Lock = field(default_factory=asyncio.Lock)
    sent: list[int] = field(default_factory=list)
    log: list[MutableMapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rules = SubnetRules(seed="a", genesis=int(START.timestamp()), tempo=TEMPO, block_time_s=12.0)
        self.subnet = SimulatedSubnet.create(rules, self.clock)
        self.subnet.register(SIGNER.hotkey, stake_tao=100.0, validator_permit=True)
        self.chain = SimulatedChain(self.subnet, SIGNER.hotkey)
        self.metrics = Metrics(self.clock, "0")
        take = self.subnet.submit_commitment

        def counting(*args: Any, **kwargs: Any) -> Any:
            self.sent.append(self.subnet.blocks.number())
            return take(*args, **kwargs)

        self.subnet.submit_commitment = counting  # type: ignore[method-assign]
        self.restart()

    def restart(self) -> None:
        """Begin a new process: nothing but chain and store is left of the one before."""
        self.signing = asyncio.Lock()
        self.service = AnchorService(
            store=self.store,
            chain=self.chain,
            clock=self.clock,
            hotkey=SIGNER.hotkey,
            netuid=1,
            settings=SETTINGS,
            lock=WeightsLock(self.store, self.clock, self.file),
            signing=self.signing,
            metrics=self.metrics,
        )

    async def receipt(self) -> str:
        """Write one more receipt; return its digest."""
        async with self.store.begin() as tx:
            await open_log(tx, SIGNER, self.clock.now(), SeededRandom("anchor"), 0)
            await append(tx, SIGNER, self.clock.now(), "closing", await commitments(tx))
            head = await tx.receipts.head()
        assert head is not None
        return head.digest

    async def at(self, block: int) -> None:
        """Let the clock run to the block, and the service take one step there."""
        await self.clock.advance((block - self.subnet.blocks.number()) * 12.0)
        await self.service.step()

    def standing(self) -> Anchor | None:
        found = self.subnet.commitment(SIGNER.hotkey)
        return None if found is None else anchor_of(found.content)

    def events(self, event: Event) -> list[MutableMapping[str, Any]]:
        return [line for line in self.log if line["event"] == event]


@pytest.fixture
async def world(sqlite_url: str, tmp_path: Path) -> AsyncIterator[World]:
    async with open_store(sqlite_url) as store:
        made = World(store, tmp_path / "stop-file")
        with structlog.testing.capture_logs() as log:
            made.log = log
            yield made


async def test_the_newest_receipt_is_anchored_once_a_day(world: World) -> None:
    digest = await world.receipt()
    await world.at(1)  # of a process before this one something could still arrive
    await world.at(LIFETIME)
    assert world.sent == []
    await world.at(20)
    assert world.standing() == Anchor(1, digest)
    assert world.events(Event.LOG_ANCHORED)[0]["digest"] == digest
    await world.receipt()
    for block in (30, 400, 20 + EVERY_BLOCKS - 1):
        await world.at(block)
    assert world.sent == [20]
    assert world.metrics.registry.get_sample_value("validator_blocks_since_anchor") == EVERY_BLOCKS - 1
    later = await world.receipt()
    await world.at(20 + EVERY_BLOCKS)
    assert (world.sent, world.standing()) == ([20, 20 + EVERY_BLOCKS], Anchor(3, later))
    await world.at(20 + 3 * EVERY_BLOCKS)  # nothing new to say
    assert len(world.sent) == 2
    assert world.events(Event.LOG_ANCHOR_REPLACED) == []


async def test_weights_come_first(world: World) -> None:
    await world.receipt()
    await world.at(1)
    due = TEMPO - 20
    for block in (due - ROOM_BLOCKS + 1, due, TEMPO):
        await world.at(block)
    assert world.sent == []
    async with world.signing:  # weights are being signed
        await asyncio.wait_for(world.at(TEMPO + 10), 20)
    assert world.sent == []
    await world.at(TEMPO + 11)
    assert world.sent == [TEMPO + 11]


async def test_a_locked_hotkey_signs_no_anchor(world: World) -> None:
    await world.receipt()
    await world.at(1)
    world.file.write_text("another program\n")
    task = asyncio.create_task(world.service.run())
    await world.clock.advance(12.0 * 20)
    await _until(lambda: bool(world.events(Event.LOG_ANCHOR_BLOCKED)), world)
    assert [
        (line["cause"], "another program" in line["detail"]) for line in world.events(Event.LOG_ANCHOR_BLOCKED)
    ] == [("locked", True)]
    assert world.sent == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_what_others_committed_to_is_left_alone_and_said_once(world: World) -> None:
    await world.receipt()
    world.subnet.submit_commitment(SIGNER.hotkey, b"https://example.org/model", delay=0, valid_blocks=4)
    world.sent.clear()
    for block in (1, 20, 30, 40):
        await world.at(block)
    assert world.sent == []
    assert [line["cause"] for line in world.events(Event.LOG_ANCHOR_BLOCKED)] == ["foreign"]


async def test_an_anchor_of_another_log_gives_way_and_is_said(world: World) -> None:
    digest = await world.receipt()
    other = Anchor(99, "cd" * 32)
    world.subnet.submit_commitment(SIGNER.hotkey, other.content(), delay=0, valid_blocks=4)
    await world.at(1)
    await world.at(EVERY_BLOCKS + 10)
    assert world.standing() == Anchor(1, digest)
    (told,) = world.events(Event.LOG_ANCHOR_REPLACED)
    assert (told["sequence"], told["digest"], told["by"]) == (99, other.digest, 1)


async def test_a_refusal_is_said_and_not_tried_again_at_once(world: World) -> None:
    await world.receipt()
    await world.at(1)
    world.subnet.deregister(SIGNER.hotkey)
    for block in (20, 21, 50, 300):
        await world.at(block)
    assert world.sent == [20]
    (told,) = world.events(Event.LOG_ANCHOR_BLOCKED)
    assert (told["cause"], told["detail"]) == ("refused", "invalid_argument (AccountNotAllowedCommit): simulated")


@pytest.mark.parametrize("delay", [0, 3])
async def test_after_a_kill_the_chain_is_read_and_nothing_sent_again(world: World, delay: int) -> None:
    """Killed between the signature and the answer; the block holds it at once, or while the next process runs."""
    digest = await world.receipt()
    await world.at(1)
    await _killed(world, delay)
    for block in range(20, 40):
        await world.at(block)
    assert (world.sent, world.standing()) == ([20], Anchor(1, digest))


async def test_after_a_kill_what_never_arrived_is_sent_once_it_has_expired(world: World) -> None:
    digest = await world.receipt()
    await world.at(1)
    await _killed(world, None)
    world.chain.faults.delay = 0
    for block in range(20, 20 + LIFETIME + 1):
        await world.at(block)
    assert (world.sent, world.standing()) == ([20], None)
    await world.at(20 + LIFETIME + 1)
    assert (world.sent, world.standing()) == ([20, 20 + LIFETIME + 1], Anchor(1, digest))


async def test_a_broken_connection_is_waited_out_like_a_kill(world: World) -> None:
    digest = await world.receipt()
    await world.at(1)
    world.chain.faults.broken, world.chain.faults.delay = 1, 2
    for block in (20, 21):
        await world.at(block)
    assert [line["cause"] for line in world.events(Event.LOG_ANCHOR_BLOCKED)] == ["unknown"]
    for block in range(22, 60):
        await world.at(block)
    assert (world.sent, world.standing()) == ([20], Anchor(1, digest))


async def test_what_certainly_was_not_sent_is_sent_at_the_next_step(world: World) -> None:
    await world.receipt()
    await world.at(1)
    world.chain.faults.unsent = 1
    with pytest.raises(Exception, match="before anything was sent"):
        await world.at(20)
    await world.at(21)
    assert world.sent == [21]


async def test_a_runtime_without_commitments_is_said_once_and_asked_no_more(world: World) -> None:
    async def missing(hotkey: str) -> None:
        raise MissingError(f"commitment: no such item for {hotkey}")

    world.chain.commitment = missing  # type: ignore[method-assign]
    await within(world.clock, 600.0, world.service.run())
    assert [line["cause"] for line in world.events(Event.LOG_ANCHOR_BLOCKED)] == ["missing"]


async def _killed(world: World, delay: int | None) -> None:
    """Kill the process between the signature and the answer, in block 20, and begin a new one."""
    world.chain.faults.lost_answers, world.chain.faults.delay = 1, delay
    await world.clock.advance(12.0 * 19)
    killed = asyncio.create_task(world.service.step())
    await _until(lambda: bool(world.sent), world)
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    world.restart()


async def _until(seen: Any, world: World) -> None:
    """Let everything run that needs no clock until something is seen."""
    for _ in range(5_000):
        if seen():
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"not seen; the log says {world.log}")
