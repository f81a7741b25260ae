import asyncio
import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.round import Axon
from sssa.sources import SystemClock, VirtualClock
from validator.chain.interface import Chain, OtherChainError

START = datetime(2026, 1, 1, tzinfo=UTC)
GENESIS = int(START.timestamp())
ME = "Validator"


def subnet_of(clock: VirtualClock, **rules: object) -> SimulatedSubnet:
    given: dict[str, object] = {"seed": "s", "genesis": GENESIS, "block_time_s": 2.0, "tempo": 9, **rules}
    return SimulatedSubnet.create(SubnetRules(**given), clock)  # type: ignore[arg-type]


def chain_of(clock: VirtualClock, **rules: object) -> SimulatedChain:
    subnet = subnet_of(clock, **rules)
    subnet.register(ME, stake_tao=100.0, validator_permit=True)
    subnet.register("miner1", axon=Axon("127.0.0.1", 8091))
    subnet.register("miner2")
    return SimulatedChain(subnet, ME)


async def test_blocks_that_began_at_another_time_are_another_chain() -> None:
    clock = VirtualClock()
    rules = SubnetRules(seed="s", genesis=GENESIS, block_time_s=1.0)
    one, later = (SimulatedSubnet.create(each, clock) for each in (rules, structs.replace(rules, genesis=GENESIS + 1)))
    chain = SimulatedChain(one, ME)
    assert await chain.genesis() == one.blocks.identity
    chain.subnet = later
    with pytest.raises(OtherChainError, match=f"its genesis is {later.blocks.identity}, not {one.blocks.identity}"):
        await chain.snapshot()


async def test_blocks_follow_the_clock() -> None:
    clock = VirtualClock(START)
    chain: Chain = chain_of(clock)
    assert (await chain.head()).number == 0
    await clock.advance(45.0)
    head = await chain.head()
    assert head.number == 22
    assert head.time == GENESIS + 44
    assert head.hash == hashlib.sha256(b"s|22").hexdigest()
    assert (head.epoch, head.epoch_start, head.epoch_end) == (2, 20, 29)


async def test_a_clock_that_is_set_back_takes_no_block_back() -> None:
    class Clock(SystemClock):
        moment = START + timedelta(seconds=100)

        def now(self) -> datetime:
            return self.moment

    clock = Clock()
    subnet = SimulatedSubnet.create(SubnetRules(seed="s", genesis=GENESIS, block_time_s=1.0), clock)
    assert subnet.blocks.number() == 100
    clock.moment = START
    assert subnet.blocks.number() == 100
    fresh = SimulatedSubnet.create(SubnetRules(seed="s", genesis=GENESIS + 10), clock)
    assert fresh.blocks.number() == 0


@pytest.mark.parametrize("block_time_s", [0.1, 0.3, 1 / 3, 12.0])
async def test_waiting_for_blocks_on_virtual_time(block_time_s: float) -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock, block_time_s=block_time_s)
    waits = [asyncio.create_task(chain.wait_for_block(number)) for number in (0, 1, 7, 50)]
    await asyncio.sleep(0)
    await clock.advance(block_time_s * 7.5)
    assert [task.done() for task in waits] == [True, True, True, False]
    assert waits[2].result().number == 7
    await clock.advance(block_time_s * 100)
    assert (await waits[3]).number == 50


async def test_refusals_are_in_a_block_with_the_pallets_names_and_change_nothing() -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock, weights_rate_limit=5, min_stake_tao=50.0, min_allowed_weights=2)
    subnet, extrinsics = chain.subnet, set[str | None]()

    async def refusal(mechid: int = 0, weights: dict[int, float] | None = None) -> str:
        before = subnet.state
        result = await chain.set_weights(mechid, weights if weights is not None else {1: 1.0}, valid_blocks=8)
        assert (result.accepted, result.block) == (False, subnet.blocks.number())
        extrinsics.add(result.extrinsic)
        assert subnet.state == before
        return result.message.removesuffix(": simulated")

    await clock.advance(8.0)
    assert await refusal() == "rate_limited (SettingWeightsTooFast)"
    await clock.advance(2.0)
    assert await refusal(mechid=1) == "subnet_not_exists (MechanismDoesNotExist)"
    assert await refusal() == "invalid_argument (WeightVecLengthIsLow)"
    assert await refusal(weights={1: 1.0, 9: 1.0}) == "invalid_argument (UidVecContainInvalidOne)"
    subnet.set_permit(ME, validator_permit=False)
    assert await refusal() == "not_authorized (NeuronNoValidatorPermit)"
    subnet.set_stake(ME, 49.9)
    assert await refusal() == "insufficient_balance (NotEnoughStakeToSetWeights)"
    subnet.deregister(ME)
    assert await refusal() == "not_registered (HotKeyNotRegisteredInSubNet)"
    assert len(extrinsics) == 7


async def test_stake_decides_incentive_and_weights_for_a_former_owner_do_not_count() -> None:
    clock = VirtualClock(START)
    subnet = subnet_of(clock, weights_rate_limit=0)
    subnet.register(ME, stake_tao=300.0, validator_permit=True)
    subnet.register("second", stake_tao=100.0, validator_permit=True)
    first, other = subnet.register("miner1"), subnet.register("miner2")
    await clock.advance(2.0)
    subnet.set_weights(ME, 0, {first: 1.0, other: 1.0})
    subnet.set_weights("second", 0, {first: 1.0})
    # Three quarters of the stake give neither more than a half; what the second validator gives above is cut off.
    assert subnet.incentives() == pytest.approx({first: 0.5 / 0.875, other: 0.375 / 0.875}, abs=1e-12)
    subnet.deregister("miner1")
    assert subnet.register("miner3") == first
    assert subnet.incentives() == {other: 1.0}
    assert subnet.weights(0, 0) == {first: 65535, other: 65535}


async def test_who_takes_over_a_uid_does_not_take_over_its_weights() -> None:
    clock = VirtualClock(START)
    subnet = subnet_of(clock, max_uids=2, immunity_period=1, weights_rate_limit=0, owner_hotkey="owner")
    subnet.register("owner")
    uid = subnet.register(ME, stake_tao=1.0, validator_permit=True)
    subnet.set_weights(ME, 0, {0: 1.0})
    subnet.set_permit(ME, validator_permit=False)
    await clock.advance(4.0)
    assert subnet.register("next") == uid
    assert subnet.weights(0, uid) == {}
    assert [neuron.hotkey for neuron in subnet.snapshot().neurons] == ["owner", "next"]
