"""Between signing and a block: the pool, mortal submissions, commitments that are revealed later."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import MAX_COMMITS, SimulatedSubnet, SubnetRules
from sssa.sources import VirtualClock
from validator.chain.interface import VERSION_KEY, ChainError, ChainUnreachableError

START = datetime(2026, 1, 1, tzinfo=UTC)
ME = "Validator"


def chain_of(clock: VirtualClock, file: Path | None = None, **rules: object) -> SimulatedChain:
    given = {"tempo": 9, "block_time_s": 1.0, "weights_rate_limit": 0, **rules}
    genesis = int(START.timestamp())
    subnet = SimulatedSubnet.create(SubnetRules(seed="p", genesis=genesis, **given), clock, file)  # type: ignore[arg-type]
    subnet.register(ME, stake_tao=100.0, validator_permit=True)
    subnet.register("miner1")
    return SimulatedChain(subnet, ME)


async def test_a_later_block_holds_what_the_pool_delays() -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock)
    chain.faults.delay = 3
    sending = asyncio.create_task(chain.set_weights(0, {1: 1.0}, valid_blocks=4))
    await asyncio.sleep(0)
    await clock.advance(2.5)
    assert not sending.done()
    assert await chain.weights(0, 0) == {}
    assert await chain.last_update(0, 0) == 0
    await clock.advance(2.5)
    assert (await sending) == (True, "", 3, "3-0000")
    assert await chain.weights(0, 0) == {1: 65535}
    assert await chain.last_update(0, 0) == 3


async def test_a_chain_that_goes_away_does_not_say_that_nothing_was_sent() -> None:
    """Found by the simulation (seeds 293 and 315): the weights that arrived afterwards were taken for a stranger's."""
    clock = VirtualClock(START)
    chain = chain_of(clock)
    chain.faults.delay = 3
    sending = asyncio.create_task(chain.set_weights(0, {1: 1.0}, valid_blocks=4))
    await asyncio.sleep(0)
    chain.faults.unreachable_until = 3
    await clock.advance(1.5)
    with pytest.raises(ChainError, match="broke while it waited") as caught:
        await sending
    assert not isinstance(caught.value, ChainUnreachableError)
    await clock.advance(2.0)
    assert await chain.weights(0, 0) == {1: 65535}


@pytest.mark.parametrize("delay", [None, 9])
async def test_what_no_block_holds_in_time_never_shows(delay: int | None) -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock)
    chain.faults.delay = delay
    sending = asyncio.create_task(chain.set_weights(0, {1: 1.0}, valid_blocks=5))
    await asyncio.sleep(0)
    await clock.advance(chain.submission_lifetime(5) + 1)
    with pytest.raises(ChainError, match="no block holds"):
        await sending
    await clock.advance(20.0)
    assert await chain.last_update(0, 0) == 0
    assert await chain.weights(0, 0) == {}


async def test_what_expired_while_nobody_looked_never_shows() -> None:
    clock = VirtualClock(START)
    subnet = chain_of(clock).subnet
    late = subnet.submit(ME, 0, {1: 1.0}, delay=9, valid_blocks=5)
    said = subnet.submit_commitment(ME, b"late", delay=9, valid_blocks=5)
    await clock.advance(20.0)
    assert (subnet.weights(0, 0), subnet.commitment(ME)) == ({}, None)
    assert (late.result, said.result) == (None, None)


async def test_what_waited_is_refused_as_it_meets_the_subnet() -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock)
    chain.faults.delay = 2
    sending = asyncio.create_task(chain.set_weights(0, {1: 1.0}, valid_blocks=4))
    await asyncio.sleep(0)
    await clock.advance(1.0)
    chain.subnet.set_permit(ME, validator_permit=False)
    await clock.advance(2.0)
    assert (await sending).message == "not_authorized (NeuronNoValidatorPermit): simulated"


async def test_a_cancelled_submission_stays_on_its_way() -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock)
    chain.faults.delay = 2
    sending = asyncio.create_task(chain.set_weights(0, {1: 1.0}, valid_blocks=4))
    await asyncio.sleep(0)
    sending.cancel()
    await clock.advance(2.0)
    assert await chain.last_update(0, 0) == 2


@pytest.mark.parametrize(("valid_blocks", "lifetime"), [(1, 4), (4, 4), (5, 8), (8, 8), (9, 16), (100, 128)])
def test_an_era_is_a_power_of_two(valid_blocks: int, lifetime: int) -> None:
    assert chain_of(VirtualClock(START)).submission_lifetime(valid_blocks) == lifetime


async def test_commitments_are_revealed_epochs_later_and_only_they_move_the_update(tmp_path: Path) -> None:
    clock = VirtualClock(START)
    file = tmp_path / "chain.json"
    chain = chain_of(clock, file, reveal_epochs=1)
    assert (await chain.parameters()).commit_reveal
    await clock.advance(4.0)
    assert (await chain.set_weights(0, {1: 1.0}, valid_blocks=4)).block == 4
    await clock.advance(2.0)
    assert (await chain.set_weights(0, {0: 1.0}, valid_blocks=4)).block == 6
    assert list(await chain.commits(0)) == [4, 6]
    assert list(await chain.commits(1)) == []
    assert await chain.weights(0, 0) == {}
    again = SimulatedChain(SimulatedSubnet.open(file, clock), ME)
    assert list(await again.commits(0)) == [4, 6]
    await clock.advance(4.0)
    for seen in (chain, again):
        assert list(await seen.commits(0)) == []
        assert await seen.weights(0, 0) == {0: 65535}
        assert await seen.last_update(0, 0) == 6


async def test_too_many_commitments_and_an_old_version_are_refused() -> None:
    chain = chain_of(VirtualClock(START), reveal_epochs=2)
    for _ in range(MAX_COMMITS):
        assert (await chain.set_weights(0, {1: 1.0}, valid_blocks=4)).accepted
    assert (
        await chain.set_weights(0, {1: 1.0}, valid_blocks=4)
    ).message == "limit_exceeded (TooManyUnrevealedCommits): simulated"
    newer = chain_of(VirtualClock(START), version_key=VERSION_KEY + 1)
    assert (
        await newer.set_weights(0, {1: 1.0}, valid_blocks=4)
    ).message == "invalid_argument (IncorrectWeightVersionKey): simulated"


async def test_updates_are_kept_per_mechanism_and_begin_with_the_registration() -> None:
    clock = VirtualClock(START)
    chain = chain_of(clock, mechanisms=2, weights_rate_limit=5)
    await clock.advance(7.0)
    uid = chain.subnet.register("late")
    assert await chain.registered_at(uid) == 7
    assert [await chain.last_update(mechid, uid) for mechid in (0, 1)] == [7, 7]
    await chain.set_weights(1, {1: 1.0}, valid_blocks=4)
    assert [await chain.last_update(mechid, 0) for mechid in (0, 1)] == [0, 7]
    assert (await chain.set_weights(0, {1: 1.0}, valid_blocks=4)).accepted
    assert (
        await chain.set_weights(1, {1: 1.0}, valid_blocks=4)
    ).message == "rate_limited (SettingWeightsTooFast): simulated"
    for call in (chain.last_update(0, 9), chain.registered_at(9)):
        with pytest.raises(ChainError, match="no neuron has uid 9"):
            await call
