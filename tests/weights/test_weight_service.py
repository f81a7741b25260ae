"""The weights loop against a simulated subnet on virtual time, with the real store."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from validator.chain.base import ChainError
from validator.chain.simulated import SimulatedChain
from validator.chain.state import SubnetRules
from validator.chain.subnet import SimulatedSubnet
from validator.protocol.reasons import Reason
from validator.settings import WeightsSettings
from validator.sources import VirtualClock
from validator.store import Store
from validator.store.errors import StoreLockLostError
from validator.store.records import WeightsRecord, WindowEntry
from validator.telemetry import Event, Metrics
from validator.weights.service import WeightService

START = datetime(2026, 1, 1, tzinfo=UTC)
ME, OWNER = "Validator", "Owner"
MINERS = [f"miner{n}" for n in range(8)]
TEMPO = 19  # epochs of 20 blocks: 0-19, 20-39, …
BEFORE_END = 5


@dataclass
class World:
    clock: VirtualClock
    subnet: SimulatedSubnet
    chain: SimulatedChain
    store: Store
    log: list[MutableMapping[str, Any]]
    metrics: Metrics
    service: WeightService
    task: asyncio.Task[None] | None = None

    async def until_block(self, number: int) -> None:
        """Let the clock run to the block, and everything that follows from each block happen before the next."""
        await self.calm()
        while self.subnet.blocks.number() < number:
            await self.clock.advance(1.0)
            await self.calm()

    async def calm(self) -> None:
        """Return once the service waits for the clock and for nothing else."""
        quiet = 0
        while quiet < 50:
            assert self.task is not None
            if self.task.done():
                return
            await asyncio.sleep(0)
            quiet = quiet + 1 if any(not wake.done() for *_, wake in self.clock._sleepers) else 0

    async def records(self) -> list[WeightsRecord]:
        async with self.store.read() as tx:
            return list(reversed(await tx.weights.listing(100)))

    def events(self, *names: Event) -> list[MutableMapping[str, Any]]:
        return [line for line in self.log if not names or line["event"] in names]

    def reasons(self) -> list[str]:
        return [line["reason"] for line in self.events(Event.WEIGHTS_BLOCKED)]


async def give_scores(store: Store, subnet: SimulatedSubnet, scores: dict[str, float], round_id: int = 0) -> None:
    snapshot = subnet.snapshot()
    async with store.begin() as tx:
        await tx.miners.seen(snapshot)
        await tx.rounds.skip(
            round_id,
            epoch=snapshot.epoch,
            block=snapshot.block,
            block_hash=snapshot.block_hash,
            reason=Reason.SKIPPED_NO_TASKS,
            at=START,
        )
        await tx.windows.add(
            [
                WindowEntry(hotkey, "declarative", round_id, f"task-{n}", score)
                for hotkey, score in scores.items()
                for n in range(20)
            ]
        )


def build(
    store: Store, *, settings: dict[str, Any] | None = None, chain: Callable[..., Any] | None = None, **rules: Any
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
    service = WeightService(
        store=store,
        chain=connection,
        clock=clock,
        hotkey=ME,
        netuid=1,
        mechid=0,
        settings=WeightsSettings(blocks_before_epoch_end=BEFORE_END, timeout_s=3.0, **(settings or {})),
        metrics=metrics,
    )
    return World(clock, subnet, connection, store, [], metrics, service)


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


def blocks(records: Iterable[WeightsRecord]) -> list[tuple[int, str, int | None]]:
    return [(record.epoch, record.state, record.block) for record in records]


async def test_each_epoch_gets_its_weights_once_late_in_it(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)})
    async with running(world):
        await world.until_block(13)
        assert await world.records() == []
        await world.until_block(62)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", 34), (2, "confirmed", 54)]
    lines = world.events(Event.WEIGHTS_SUBMITTED)
    assert [(line["epoch"], line["block"], line["reason"]) for line in lines] == [
        (0, 14, "weights_sent"),
        (1, 34, "weights_sent"),
        (2, 54, "weights_sent"),
    ]


async def test_the_line_the_row_and_the_chain_say_the_same(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)})
    async with running(world):
        await world.until_block(15)
    (record,) = await world.records()
    (line,) = world.events(Event.WEIGHTS_SUBMITTED)
    assert set(line) - {"event", "log_level"} == Event.WEIGHTS_SUBMITTED.fields
    assert line["weights"] == record.vector
    assert line["scores"] == record.scores == {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)}
    assert line["extrinsic"] == record.extrinsic == "14-0000"
    assert abs(sum(record.vector.values()) - 1) < 1e-9
    assert max(record.vector.values()) <= 0.15
    on_chain = world.subnet.weights(0, 0)
    total = sum(on_chain.values())
    by_hotkey = {neuron.hotkey: on_chain.get(neuron.uid, 0) / total for neuron in world.subnet.snapshot().neurons}
    for hotkey in MINERS:
        assert abs(by_hotkey[hotkey] - record.vector[hotkey]) < 1e-4
    assert by_hotkey[OWNER] == by_hotkey[ME] == 0


async def test_uids_are_resolved_at_the_moment_of_sending(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0, "miner1": 1.0})
    async with running(world):
        await world.until_block(10)
        uid = world.subnet.deregister("miner0")
        assert world.subnet.register("stranger") == uid
        await world.until_block(15)
    (record,) = await world.records()
    assert record.vector == {"miner1": 0.15}
    assert set(world.subnet.weights(0, 0)) == {1, 3}  # the owner takes what is left over, the stranger nothing
    (line,) = world.events(Event.WEIGHTS_SUBMITTED)
    assert line["owner"] == OWNER
    assert line["unallocated"] == pytest.approx(0.85)


async def test_without_an_owner_what_is_left_over_is_dropped(store: Store) -> None:
    world = build(store, owner_hotkey=None)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(15)
    assert world.subnet.weights(0, 0) == {2: 65535}
    assert world.events(Event.WEIGHTS_SUBMITTED)[0]["owner"] is None


async def test_nothing_is_sent_without_a_positive_score_until_there_is_one(store: Store) -> None:
    world = build(store)
    async with running(world):
        await world.until_block(16)
        assert world.subnet.weights(0, 0) == {}
        await give_scores(store, world.subnet, {"miner0": 1.0})
        await world.until_block(18)
    assert world.reasons() == ["weights_none_positive"]
    assert blocks(await world.records()) == [(0, "confirmed", 17)]


async def test_a_rate_limit_is_waited_for_within_the_epoch(store: Store) -> None:
    world = build(store, weights_rate_limit=17)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(45)
    assert world.reasons() == ["weights_rate_limited"]
    assert blocks(await world.records()) == [(0, "confirmed", 17), (1, "confirmed", 34)]


async def test_a_rate_limit_beyond_the_epoch_costs_the_epoch(store: Store) -> None:
    world = build(store, weights_rate_limit=25)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(80)
    assert blocks(await world.records()) == [(1, "confirmed", 34), (3, "confirmed", 74)]
    assert all(record.state == "confirmed" for record in await world.records())


async def test_a_blocking_reason_is_said_once_per_change_and_shows_in_the_metrics(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    world.subnet.set_permit(ME, validator_permit=False)
    async with running(world):
        await world.until_block(37)
        assert world.reasons() == ["weights_no_permit"]
        world.subnet.set_permit(ME, validator_permit=True)
        world.subnet.set_stake(ME, 1.0)
        await world.until_block(56)
        assert world.reasons() == ["weights_no_permit", "weights_low_stake"]
        world.subnet.deregister(ME)
        await world.until_block(58)
    assert world.reasons() == ["weights_no_permit", "weights_low_stake", "weights_not_registered"]
    assert await world.records() == []


async def test_an_outage_is_said_once_and_the_epoch_is_still_served(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(9)
        world.chain.faults.unreachable_until = 16
        await world.until_block(19)
    assert world.reasons() == ["weights_chain_down"]
    (back,) = world.events(Event.WEIGHTS_UNBLOCKED)
    assert set(back) - {"event", "log_level"} == Event.WEIGHTS_UNBLOCKED.fields
    ((epoch, state, block),) = blocks(await world.records())
    assert (epoch, state) == (0, "confirmed")
    assert block is not None
    assert 16 <= block < 19


async def test_an_outage_to_the_epochs_end_costs_the_epoch_rather_than_spilling_over(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(9)
        world.chain.faults.unreachable_until = 19
        await world.until_block(40)
    assert blocks(await world.records()) == [(1, "confirmed", 34)]


async def test_a_lost_answer_is_unknown_never_resent_and_found_on_the_chain_later(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    sent = count_submissions(world)
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(19)
        assert blocks(await world.records()) == [(0, "unknown", 14)]
        assert world.events(Event.WEIGHTS_SUBMITTED)[0]["reason"] == "weights_unknown"
        assert sent == [14]
        await world.until_block(21)
        assert blocks(await world.records()) == [(0, "confirmed", 14)]
        assert [line["epoch"] for line in world.events(Event.WEIGHTS_FOUND)] == [0]
        await world.until_block(39)
    assert sent == [14, 34]


async def test_an_unknown_submission_that_never_arrived_stays_unknown(store: Store) -> None:
    class Swallowing(SimulatedChain):
        async def set_weights(self, mechid: int, weights: Any, *, valid_blocks: int) -> Any:
            if self.subnet.blocks.number() < 20:
                raise ChainError("the connection broke")
            return await super().set_weights(mechid, weights, valid_blocks=valid_blocks)

    world = build(store, chain=Swallowing)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(39)
    assert blocks(await world.records()) == [(0, "unknown", 14), (1, "confirmed", 34)]
    assert not world.events(Event.WEIGHTS_FOUND)


async def test_equal_weights_of_an_earlier_epoch_do_not_pass_for_lost_ones(store: Store) -> None:
    class Swallowing(SimulatedChain):
        async def set_weights(self, mechid: int, weights: Any, *, valid_blocks: int) -> Any:
            if self.subnet.blocks.number() > 20:
                raise ChainError("the connection broke")
            return await super().set_weights(mechid, weights, valid_blocks=valid_blocks)

    world = build(store, chain=Swallowing)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(45)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "unknown", 34)]


async def test_a_refusal_is_final_for_the_epoch(store: Store) -> None:
    class Refusing(SimulatedChain):
        async def parameters(self) -> Any:
            return (await super().parameters())._replace(min_stake_tao=0.0)

    world = build(store, chain=Refusing, min_stake_tao=500.0)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(19)
    (record,) = await world.records()
    assert (record.state, record.message) == ("rejected", "NotEnoughStakeToSetWeights")
    assert world.events(Event.WEIGHTS_SUBMITTED)[0]["reason"] == "weights_rejected"


async def test_weights_that_certainly_did_not_leave_are_told_apart_from_unknown_ones(store: Store) -> None:
    class Gone(SimulatedChain):
        async def set_weights(self, mechid: int, weights: Any, *, valid_blocks: int) -> Any:
            self.faults.unreachable_until = 18
            return await super().set_weights(mechid, weights, valid_blocks=valid_blocks)

    world = build(store, chain=Gone)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(22)
    (record,) = await world.records()
    assert record.state == "rejected"
    assert world.events(Event.WEIGHTS_SUBMITTED)[0]["reason"] == "weights_chain_down"


@pytest.mark.parametrize(("arrived", "state"), [(True, "confirmed"), (False, "unknown")])
async def test_a_row_that_a_crash_left_prepared_is_settled_from_the_chain_and_not_sent_again(
    store: Store, arrived: bool, state: str
) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    await world.clock.advance(15.0)
    async with store.begin() as tx:
        vector = {"miner0": 0.15}
        submission = await tx.weights.prepare(1, 0, 0, vector, {"miner0": 1.0}, 0.85, START)
        await tx.weights.update(submission, "prepared", START, block=14)
    if arrived:
        world.subnet.set_weights(ME, 0, {2: 0.15, 1: 0.85})
    sent = count_submissions(world)
    async with running(world):
        await world.until_block(19)
    assert sent == []
    (record,) = await world.records()
    assert (record.state, record.block) == (state, 15 if arrived else 14)


async def test_other_weights_on_chain_do_not_pass_for_the_lost_ones(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    await world.clock.advance(15.0)
    async with store.begin() as tx:
        submission = await tx.weights.prepare(1, 0, 0, {"miner0": 0.15}, {"miner0": 1.0}, 0.85, START)
        await tx.weights.update(submission, "prepared", START, block=14)
    world.subnet.set_weights(ME, 0, {3: 1.0})
    async with running(world):
        await world.until_block(19)
    assert blocks(await world.records()) == [(0, "unknown", 14)]


async def test_stopping_in_mid_submission_leaves_a_row_that_says_unknown(store: Store) -> None:
    world = build(store, settings={})
    await give_scores(store, world.subnet, {"miner0": 1.0})
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(14)
        assert blocks(await world.records()) == [(0, "prepared", 14)]
    assert blocks(await world.records()) == [(0, "unknown", 14)]


async def test_the_last_write_outlives_a_second_cancellation(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    world.chain.faults.lost_answers = 1
    async with running(world):
        await world.until_block(14)
        assert world.task is not None
        world.task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        world.task.cancel()
        await asyncio.gather(world.task, return_exceptions=True)
        async with store.begin():  # write transactions queue in order: the last write is before this one
            pass
    assert blocks(await world.records()) == [(0, "unknown", 14)]


async def test_a_restart_in_the_same_epoch_sends_nothing_again(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    sent = count_submissions(world)
    async with running(world):
        await world.until_block(15)
    again = WeightService(
        store=store,
        chain=world.chain,
        clock=world.clock,
        hotkey=ME,
        netuid=1,
        mechid=0,
        settings=WeightsSettings(blocks_before_epoch_end=BEFORE_END),
    )
    world.service = again
    async with running(world):
        await world.until_block(19)
    assert sent == [14]


async def test_switched_off_means_off(store: Store) -> None:
    world = build(store, settings={"enabled": False})
    await world.service.run()
    assert await world.records() == []


async def test_a_fault_of_ours_is_logged_and_tried_again_but_a_lost_lock_ends_it(store: Store) -> None:
    class Broken(SimulatedChain):
        fault: Exception | None = RuntimeError("a bug")

        async def parameters(self) -> Any:
            if self.fault is not None:
                raise self.fault
            return await super().parameters()

    world = build(store, chain=Broken)
    assert isinstance(world.chain, Broken)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(14)
        assert [line["reason"] for line in world.events(Event.WEIGHTS_FAILED)] == ["bug_internal"]
        world.chain.fault = None
        await world.until_block(21)
        assert len(await world.records()) == 1
        world.chain.fault = StoreLockLostError("taken")
        await world.until_block(35)
        assert world.task is not None
        assert isinstance(world.task.exception(), StoreLockLostError)


async def test_the_metrics_show_block_and_age(store: Store) -> None:
    world = build(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(20)
    assert world.metrics.registry.get_sample_value("validator_chain_block") == 20
    assert world.metrics.registry.get_sample_value("validator_blocks_since_weights") == 6


def count_submissions(world: World) -> list[int]:
    """Return a list that grows by the block of each submission that reaches the subnet."""
    seen: list[int] = []
    take = world.subnet.submit

    def counting(*args: Any, **kwargs: Any) -> Any:
        seen.append(world.subnet.blocks.number())
        return take(*args, **kwargs)

    world.subnet.submit = counting  # type: ignore[method-assign]
    return seen
