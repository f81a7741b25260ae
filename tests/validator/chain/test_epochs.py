"""When an epoch ends, against runtimes that step block after block without calculating anything ahead."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subtensor_node import NEWER, Node
from subtensor_steps import LONGEST, Steps

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.signatures import Signer
from sssa.sources import VirtualClock
from validator.chain.bittensor import BittensorChain, numbered_epoch, planned_end
from validator.chain.interface import Head

START = datetime(2026, 1, 1, tzinfo=UTC)
U16_MAX = 65_535


pytestmark = pytest.mark.usefixtures("sdk_home")


class Follower:
    """A chain on a node whose runtime is old or new, and what its heads say."""

    def __init__(self, *, old: bool, netuid: int = 1, tempo: int = 9) -> None:
        self.clock = VirtualClock(START)
        rules = SubnetRules(seed="e", genesis=int(START.timestamp()), netuid=netuid, block_time_s=1.0)
        subnet = SimulatedSubnet.create(rules, self.clock)
        self.node = Node(subnet, self.clock, lacks=NEWER if old else frozenset())
        self.node.steps = Steps(netuid, tempo, scheduled=not old)
        self.chain = BittensorChain(
            endpoints=("ws://node.invalid",),
            netuid=netuid,
            signer=Signer.from_uri("//Validator"),
            clock=self.clock,
            substrate=self.node.connect,
        )

    async def at(self, block: int) -> Head:
        await self.clock.advance(float(block - self.node.subnet.blocks.number()))
        head = await self.chain.head()
        assert head.number == block
        return head

    async def through(self, blocks: range) -> None:
        """See that every head names the steps before and after it, and counts them."""
        heads = [await self.at(block) for block in blocks]
        steps = self.node.steps
        for head in heads:
            ahead = range(head.number + 1, head.number + 2 * steps.at(head.number).tempo + 2)
            assert head.epoch_end == next(block for block in ahead if steps.stepped(block)) - 1
            last = next((block for block in range(head.number, 0, -1) if steps.stepped(block)), None)
            # A tempo that was changed since moves the step before it, too, where the block's number alone decides.
            if last is not None and (steps.scheduled or steps.at(last).tempo == steps.at(head.number).tempo):
                assert head.epoch_start == last
            if steps.scheduled:
                assert head.epoch - heads[0].epoch == steps.at(head.number).steps - steps.at(heads[0].number).steps


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(("netuid", "tempo"), [(0, 1), (1, 9), (12, 9), (9, 10), (65_534, 7), (U16_MAX, 12)])
async def test_every_head_names_the_block_before_the_next_step(old: bool, netuid: int, tempo: int) -> None:
    follower = Follower(old=old, netuid=netuid, tempo=tempo)
    await follower.through(range(3 * tempo + 3))
    assert follower.node.steps.at(3 * tempo + 2).steps >= 2


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("tempo", [4, 30])
async def test_a_tempo_changed_within_an_epoch_moves_its_end(old: bool, tempo: int) -> None:
    follower = Follower(old=old, tempo=13)
    before = await follower.at(20)
    follower.node.steps.set_tempo(20, tempo)
    assert (await follower.at(20)).epoch_end != before.epoch_end
    await follower.through(range(20, 50))


@pytest.mark.parametrize("old", [False, True])
async def test_a_subnet_with_tempo_0_has_one_epoch_without_an_end(old: bool) -> None:
    follower = Follower(old=old, tempo=0)
    heads = [await follower.at(block) for block in (0, 1, 400)]
    assert [(head.epoch, head.epoch_end) for head in heads] == [(0, None)] * 3
    follower.node.steps.set_tempo(400, 9)
    await follower.through(range(400, 425))


async def test_a_step_that_the_owner_calls_for_ends_the_epoch_sooner() -> None:
    follower = Follower(old=False, tempo=30)
    assert (await follower.at(5)).epoch_end == 29
    follower.node.steps.trigger(5, 12)
    assert (await follower.at(5)).epoch_end == 11
    await follower.through(range(5, 60))


async def test_a_step_that_is_put_off_is_expected_in_the_next_block() -> None:
    follower = Follower(old=False, tempo=10)
    assert (await follower.at(9)).epoch_end == 9
    await follower.at(10)
    follower.node.steps.defer(10)
    late = await follower.at(10)
    assert (late.epoch, late.epoch_end) == (0, 10)
    assert (await follower.at(11)).epoch == 1
    await follower.through(range(11, 40))


def test_a_schedule_beyond_the_longest_epoch_is_cut_short() -> None:
    steps = Steps(1, U16_MAX, scheduled=True)
    for block in (0, 1, LONGEST - 1, LONGEST, LONGEST + 1, LONGEST + 2):
        state = steps.at(block)
        end = planned_end(block, steps.planned(block), state.since)
        assert end == (LONGEST if block <= LONGEST else 2 * LONGEST + 1)
    assert [block for block in (LONGEST, LONGEST + 1, LONGEST + 2) if steps.stepped(block)] == [LONGEST + 1]


@settings(max_examples=25)
@given(st.integers(0, U16_MAX), st.integers(1, 60), st.integers(0, 3_000_000), st.integers(0, 2_000))
def test_the_block_number_alone_tells_where_old_runtimes_step(netuid: int, tempo: int, start: int, age: int) -> None:
    steps = Steps(netuid, tempo, scheduled=False, start=start)
    registered = max(0, start - age)
    for block in range(start, start + 3 * tempo):
        epoch, end = numbered_epoch(block, netuid, tempo, registered)
        assert epoch == (block - registered) // (tempo + 1)
        assert end is not None
        assert steps.stepped(end + 1)
        assert not any(map(steps.stepped, range(block + 1, end + 1)))


def test_the_longest_tempo_is_counted_as_any_other() -> None:
    assert numbered_epoch(0, U16_MAX, U16_MAX, 0) == (0, 65_534)
    steps = Steps(U16_MAX, U16_MAX, scheduled=False)
    assert steps.stepped(65_535)
    assert steps.at(65_535).steps == 1
    assert numbered_epoch(65_535, U16_MAX, U16_MAX, 0) == (0, 131_070)
    assert numbered_epoch(65_536, U16_MAX, U16_MAX, 0) == (1, 131_070)


def test_epochs_are_counted_from_the_registration_and_never_before_it() -> None:
    assert [numbered_epoch(5_000_000 + age, 3, 360, 5_000_000)[0] for age in (0, 360, 361, 722)] == [0, 0, 1, 2]
    assert numbered_epoch(4_999_000, 3, 360, 5_000_000)[0] == 0
