"""The weights loop against a simulated subnet on virtual time, with the real store."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from weights_world import ME, MINERS, OWNER, blocks, build, give_scores, restarted, run_until, running, scored

from localnet.chain.simulated import SimulatedChain
from sssa.protocol.round import MetagraphSnapshot
from validator.chain.interface import Head, WeightsResult
from validator.chain.submission import submission_lifetime
from validator.settings.model import WeightsSettings
from validator.store import Store
from validator.store.errors import StoreLockLostError
from validator.telemetry import Event


async def test_each_epoch_gets_its_weights_once_late_in_it(store: Store) -> None:
    world = await scored(store, {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)})
    async with running(world):
        await world.until_block(13)
        assert await world.records() == []
        await world.until_block(62)
    assert world.metrics.registry.get_sample_value("validator_chain_block") == 60
    assert world.metrics.registry.get_sample_value("validator_blocks_since_weights") == 6
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", 34), (2, "confirmed", 54)]
    lines = world.events(Event.WEIGHTS_SUBMITTED)
    assert [(line["epoch"], line["block"], line["reason"]) for line in lines] == [
        (0, 14, "weights_sent"),
        (1, 34, "weights_sent"),
        (2, 54, "weights_sent"),
    ]


class NumberedChain(SimulatedChain):
    """An old runtime's: its epochs change five blocks before the subnet steps (D-22)."""

    async def head(self) -> Head:
        return self._moved(await super().head())

    async def wait_for_block(self, number: int) -> Head:
        return self._moved(await super().wait_for_block(number))

    async def snapshot(self) -> MetagraphSnapshot:
        snapshot = await super().snapshot()
        return msgspec.structs.replace(snapshot, epoch=(snapshot.block + 5) // 20)

    def _moved(self, head: Head) -> Head:
        return replace(head, epoch=(head.number + 5) // 20)


async def test_epochs_that_do_not_change_with_the_steps_get_weights_once_between_two_steps(store: Store) -> None:
    world = await scored(
        store, {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)}, chain=NumberedChain, weights_rate_limit=0
    )
    await run_until(world, 62)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", 34), (2, "confirmed", 54)]
    assert world.sent == [14, 34, 54]


async def test_the_line_the_row_and_the_chain_say_the_same(store: Store) -> None:
    world = await scored(store, {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)})
    await run_until(world, 15)
    (record,) = await world.records()
    (line,) = world.events(Event.WEIGHTS_SUBMITTED)
    assert set(line) - {"event", "log_level"} == Event.WEIGHTS_SUBMITTED.fields
    assert line["weights"] == record.vector
    assert line["scores"] == record.scores == {hotkey: (1.0 + n) / 36 for n, hotkey in enumerate(MINERS)}
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
    world = await scored(store, {"miner0": 1.0, "miner1": 1.0})
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
    world = await scored(store, {"miner0": 1.0}, weights_rate_limit=17)
    await run_until(world, 45)
    assert world.reasons() == ["weights_rate_limited"]
    assert blocks(await world.records()) == [(0, "confirmed", 17), (1, "confirmed", 34)]


async def test_a_rate_limit_beyond_the_epoch_costs_the_epoch(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0}, weights_rate_limit=25)
    await run_until(world, 80)
    assert blocks(await world.records()) == [(1, "confirmed", 34), (3, "confirmed", 74)]
    assert all(record.state == "confirmed" for record in await world.records())


async def test_a_blocking_reason_is_said_once_per_change_and_shows_in_the_metrics(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0})
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
    world = await scored(store, {"miner0": 1.0})
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


async def test_a_submission_that_fails_is_over_once_one_has_succeeded_not_with_the_next_head(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0})
    world.chain.faults.unsent = 100
    async with running(world):
        await world.until_block(25)
        world.chain.faults.unsent = 0
        await world.until_block(39)
    told = world.events(Event.WEIGHTS_BLOCKED, Event.WEIGHTS_SUBMITTED, Event.WEIGHTS_UNBLOCKED)
    assert [line["event"] for line in told] == ["weights_blocked", "weights_submitted", "weights_unblocked"]
    assert [(epoch, state) for epoch, state, _ in blocks(await world.records())][-1] == (1, "confirmed")


class Refusing(SimulatedChain):
    """Hides that its subnet asks for more stake than there is."""

    async def parameters(self) -> Any:
        return (await super().parameters())._replace(min_stake_tao=0.0)


async def test_the_third_refusal_is_final_for_the_epoch_even_after_a_restart(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0}, chain=Refusing, min_stake_tao=500.0)
    await run_until(world, 17)
    lines = world.events(Event.WEIGHTS_SUBMITTED)
    await run_until(restarted(world), 19)
    (record,) = await world.records()
    assert (record.state, record.message) == (
        "rejected",
        "insufficient_balance (NotEnoughStakeToSetWeights): simulated",
    )
    assert (world.sent, record.attempts) == ([14, 15, 16], 3)
    assert [(line["attempt"], line["reason"]) for line in lines] == [(n, "weights_rejected") for n in (1, 2, 3)]


async def test_what_is_refused_once_is_sent_again_in_the_same_epoch(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0}, chain=Refusing, min_stake_tao=500.0)
    async with running(world):
        await world.until_block(14)
        world.subnet.set_stake(ME, 1_000.0)
        await world.until_block(19)
    (record,) = await world.records()
    assert (record.state, record.block, record.attempts, record.message) == ("confirmed", 15, 2, None)
    assert world.sent == [14, 15]


class RealEra(SimulatedChain):
    """Its submissions live as long as those on a real chain; the pool loses the first."""

    lost = 1

    def submission_lifetime(self, valid_blocks: int) -> int:
        return submission_lifetime(valid_blocks)

    async def set_weights(self, mechid: int, weights: Any, **given: Any) -> WeightsResult:
        self.faults.delay = None if self.lost else 0
        self.lost -= 1
        return await super().set_weights(mechid, weights, **given)


async def test_with_the_defaults_a_lost_submission_is_sent_again_in_the_same_epoch(store: Store) -> None:
    defaults = WeightsSettings()
    before_end, valid = defaults.blocks_before_epoch_end, defaults.valid_blocks
    world = await scored(store, {"miner0": 1.0}, settings=defaults.model_dump(), chain=RealEra, tempo=359)
    await run_until(world, 359)
    due = 359 - before_end
    again = due + submission_lifetime(valid) + 1
    assert (world.sent, blocks(await world.records())) == ([due, again], [(0, "confirmed", again)])


async def test_a_row_of_too_few_weights_is_said_and_not_sent(store: Store) -> None:
    world = build(store, min_allowed_weights=20)
    for number in range(8, 30):
        world.subnet.register(f"miner{number}")
    await give_scores(store, world.subnet, {f"miner{number}": 1.0 for number in range(12)})
    async with running(world):
        await world.until_block(19)
        assert world.conditions() == {
            "weights_too_few": "mechanism 0: 12 uids with a weight, at least 20 asked for",
        }
        await give_scores(store, world.subnet, {f"miner{number}": 1.0 for number in range(20)}, round_id=1)
        await world.until_block(35)
    assert (world.sent, world.reasons(), world.conditions()) == ([34], ["weights_too_few"], {})


async def test_the_owners_hotkey_sends_without_permit_and_stake(store: Store) -> None:
    world = build(store, owner_hotkey=ME)
    world.subnet.set_permit(ME, validator_permit=False)
    world.subnet.set_stake(ME, 0.0)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    await run_until(world, 15)
    assert blocks(await world.records()) == [(0, "confirmed", 14)]


async def test_a_restart_in_the_same_epoch_sends_nothing_again(store: Store) -> None:
    world = await scored(store, {"miner0": 1.0})
    await run_until(world, 15)
    await run_until(restarted(world), 19)
    assert world.sent == [14]


async def test_a_fault_of_ours_is_logged_and_tried_again_but_a_lost_lock_ends_it(store: Store) -> None:
    class Broken(SimulatedChain):
        fault: Exception | None = None

        async def parameters(self) -> Any:
            if self.fault is not None:
                raise self.fault
            return await super().parameters()

    world = build(store, chain=Broken)
    assert isinstance(world.chain, Broken)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    async with running(world):
        await world.until_block(12)
        world.chain.fault = RuntimeError("a bug")
        await world.until_block(14)
        assert [line["reason"] for line in world.events(Event.WEIGHTS_FAILED)] == ["bug_internal"]
        world.chain.fault = None
        await world.until_block(21)
        assert len(await world.records()) == 1
        world.chain.fault = StoreLockLostError("taken")
        await world.until_block(35)
        assert world.task is not None
        assert isinstance(world.task.exception(), StoreLockLostError)


async def test_an_epochs_vector_is_written_down_also_when_nothing_is_sent(store: Store) -> None:
    world = build(store)
    world.subnet.set_permit(ME, validator_permit=False)
    async with running(world):
        await world.until_block(18)
        await give_scores(store, world.subnet, {"miner0": 1.0})
        await world.until_block(37)
    async with store.read() as tx:
        first, second = await tx.vectors.of_epoch(1, 0, 0), await tx.vectors.of_epoch(1, 0, 1)
    assert first is not None
    assert second is not None
    assert (first.block, first.positive, first.unpaid) == (14, False, ())
    assert (second.block, second.positive, second.round_id) == (34, True, 0)
    assert await world.records() == []
