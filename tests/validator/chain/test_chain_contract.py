"""Contract of a chain: simulated, the SDK over a node in memory, the same on a socket, and a real node if any."""

import random
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import get_args

import pytest
from chain_worlds import ME, Build, NodeWorld, World
from rpc_proxy import Break

from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.weight_rows import U16_MAX, to_u16
from validator.cancellation import within
from validator.chain.interface import ChainError, ChainUnreachableError, SubnetParameters, WeightsResult

NEWCOMER = Signer.from_uri("//Newcomer").hotkey


async def rested(world: World) -> None:
    """Wait until the rate limit lets the validator send."""
    parameters = await world.run(world.chain.parameters())
    await world.pass_blocks(parameters.weights_rate_limit + 1)


async def uid_of(world: World, hotkey: str) -> int:
    neuron = (await world.run(world.chain.snapshot())).by_hotkey(hotkey)
    assert neuron is not None
    return neuron.uid


async def send(world: World, weights: Mapping[int, float]) -> WeightsResult:
    return await world.run(world.chain.set_weights(0, weights, valid_blocks=8))


def assert_refused(result: WeightsResult, code: str, name: str) -> None:
    """Check that the runtime refused it: in a block, with an id, as `code (Name): text`."""
    assert not result.accepted
    assert re.fullmatch(rf"{code} \({name}\): .+", result.message), result.message
    assert result.block is not None
    assert (result.extrinsic or "").startswith(f"{result.block}-")


def rising(world: World) -> dict[int, float]:
    return {uid: 1.0 + index for index, uid in enumerate(sorted(world.miners))}


async def test_the_genesis_is_the_chains_for_good(build: Build) -> None:
    world = await build()
    genesis = await world.run(world.chain.genesis())
    assert re.fullmatch("[0-9a-f]{64}", genesis)
    await world.pass_blocks(2)
    assert await world.run(world.chain.genesis()) == genesis


async def test_a_snapshot_shows_everybody_at_one_block(build: Build) -> None:
    world = await build()
    snapshot = await world.run(world.chain.snapshot())
    assert [neuron.uid for neuron in snapshot.neurons] == sorted(neuron.uid for neuron in snapshot.neurons)
    me = snapshot.by_hotkey(world.me)
    assert me is not None
    assert (me.validator_permit, me.stake_tao > 0) == (True, True)
    assert {neuron.uid: neuron.hotkey for neuron in snapshot.neurons if neuron.uid in world.miners} == world.miners
    assert len(bytes.fromhex(snapshot.block_hash)) == 32
    assert snapshot.tempo == (await world.run(world.chain.parameters())).tempo
    assert await world.run(world.chain.registered_at(me.uid)) <= snapshot.block


async def test_a_snapshot_and_a_head_of_the_same_block_agree(build: Build) -> None:
    world = await build()
    while True:
        before = await world.run(world.chain.head())
        snapshot = await world.run(world.chain.snapshot())
        if snapshot.block == before.number:
            break
    seen = (snapshot.block, snapshot.block_hash, snapshot.block_time, snapshot.epoch)
    assert seen == (before.number, before.hash, before.time, before.epoch)
    assert before.epoch_end is None or before.epoch_end >= before.number


async def test_waiting_ends_with_the_block_or_a_later_one(build: Build) -> None:
    world = await build()
    first = await world.run(world.chain.head())
    later = await world.run(world.chain.wait_for_block(first.number + 3))
    assert later.number >= first.number + 3
    assert later.time >= first.time
    assert (await world.run(world.chain.wait_for_block(first.number))).number >= later.number


@pytest.mark.parametrize("netuid", [1, 4])
async def test_an_epoch_ends_in_the_block_before_a_step(build: Build, netuid: int) -> None:
    world = await build(*([] if netuid == 1 else ["rules"]), netuid=netuid)
    head = await world.run(world.chain.head())
    for _ in range(2):
        assert head.epoch_end is not None
        last = await world.run(world.chain.wait_for_block(head.epoch_end))
        begun = await world.run(world.chain.wait_for_block(head.epoch_end + 1))
        steps = [block for block in range(head.number + 1, begun.number + 1) if await world.stepped(block)]
        assert steps[0] == head.epoch_end + 1
        assert last.number > head.epoch_end or last.epoch_end == head.epoch_end
        assert head.epoch <= begun.epoch <= head.epoch + len(steps)
        head = begun


async def test_parameters_are_those_of_the_subnet(build: Build) -> None:
    world = await build("rules", tempo=19, weights_rate_limit=7, min_stake_tao=2.5, mechanisms=3, version_key=12)
    parameters = await world.run(world.chain.parameters())
    assert parameters == SubnetParameters(
        19, 7, 2.5, 12, commit_reveal=False, mechanisms=3, reveal_epochs=parameters.reveal_epochs
    )


@pytest.mark.parametrize("limit", [455, 9_830, 29_491, 65_535])
async def test_plain_weights_are_stored_byte_for_byte_whatever_the_limit_of_one(build: Build, limit: int) -> None:
    """The SDK clips to the limit, which the runtime does not apply: rows arrived with all weights equal."""
    world = await build(*([] if limit == U16_MAX else ["rules"]), max_weights_limit=limit)
    await rested(world)
    me, planned = await uid_of(world, world.me), rising(world)
    result = await send(world, planned)
    assert (result.accepted, result.message) == (True, "")
    assert result.block is not None
    assert result.extrinsic is not None
    assert result.extrinsic.startswith(f"{result.block}-")
    stored = await world.run(world.chain.weights(0, me))
    assert stored == to_u16(planned) == to_u16(to_u16(planned))
    assert await world.run(world.chain.weights(0, max(world.miners))) == {}
    assert await world.run(world.chain.last_update(0, me)) == result.block
    assert list(await world.run(world.chain.commits(0))) == []


async def test_validators_have_figures(build: Build) -> None:
    world = await build()
    await rested(world)
    assert (await send(world, rising(world))).accepted
    me = await uid_of(world, world.me)
    mine = next(one for one in await world.run(world.chain.validators()) if one.uid == me)
    assert 0 <= mine.trust <= 1
    assert 0 <= mine.dividends <= 1
    assert mine.emission_alpha >= 0
    if not isinstance(world, NodeWorld):  # a real chain has them at its next step
        assert (mine.trust, mine.dividends) == (1.0, 1.0)


async def test_a_miner_that_announces_itself_is_seen(build: Build) -> None:
    world = await build()
    uid, axon = min(world.miners), Axon("192.0.2.7", random.randint(1_024, 65_535))
    assert (await world.run(world.chain.snapshot())).neurons[uid].axon != axon
    await world.announce(uid, axon.ip, axon.port)
    assert (await world.run(world.chain.snapshot())).neurons[uid].axon == axon


async def test_too_soon_is_refused_and_changes_nothing(build: Build) -> None:
    world = await build()
    await rested(world)
    me = await uid_of(world, world.me)
    first, again = await send(world, rising(world)), await send(world, {min(world.miners): 1.0})
    assert_refused(again, "rate_limited", "SettingWeightsTooFast")
    assert await world.run(world.chain.last_update(0, me)) == first.block
    assert (await world.run(world.chain.weights(0, me))).keys() == world.miners.keys()


async def test_without_a_permit_weights_are_refused_and_the_reason_is_named(build: Build) -> None:
    world = await build()
    await world.set_permit(False)
    await rested(world)
    assert_refused(await send(world, rising(world)), "not_authorized", "NeuronNoValidatorPermit")
    await rested(world)
    me = await uid_of(world, world.me)
    assert (await send(world, {me: 1.0})).accepted, "a row of nothing but its own weight needs no permit"
    await world.set_permit(True)
    await rested(world)
    assert (await send(world, rising(world))).accepted


async def test_the_owners_hotkey_needs_neither_permit_nor_stake(build: Build) -> None:
    world = await build("rules", owner_hotkey=ME.hotkey, min_stake_tao=1_000.0)
    await world.set_permit(False)
    await rested(world)
    assert (await world.run(world.chain.parameters())).owner_exempt
    assert (await send(world, rising(world))).accepted


async def test_a_row_of_too_few_weights_is_refused_unless_all_neurons_are_in_it(build: Build) -> None:
    world = await build("rules", min_allowed_weights=20)
    await rested(world)
    assert (await world.run(world.chain.parameters())).min_allowed_weights == 20
    assert_refused(await send(world, rising(world)), "invalid_argument", "WeightVecLengthIsLow")
    everybody = {neuron.uid: 1.0 for neuron in (await world.run(world.chain.snapshot())).neurons}
    await rested(world)
    assert (await send(world, everybody)).accepted


async def test_committed_weights_show_once_they_are_revealed(build: Build) -> None:
    world = await build(reveal_epochs=1)
    await rested(world)
    me, planned = await uid_of(world, world.me), rising(world)
    assert (await world.run(world.chain.parameters())).commit_reveal
    await world.sealed(planned)
    result = await send(world, planned)
    assert result.accepted
    assert list(await world.run(world.chain.commits(0))) == [result.block]
    assert await world.run(world.chain.last_update(0, me)) == result.block
    stored: Mapping[int, int] = {}
    for _ in range(400):
        if stored := await world.run(world.chain.weights(0, me)):
            break
        await world.pass_blocks(1)
    assert stored, "not revealed after 400 blocks; does the node get drand's pulses?"
    assert stored == to_u16(planned)
    assert list(await world.run(world.chain.commits(0))) == []
    assert await world.run(world.chain.last_update(0, me)) == result.block


async def test_a_reveal_that_fails_leaves_no_commitment_and_the_row_as_it_was(build: Build) -> None:
    """No event, no refusal: only a comparison of rows tells it."""
    world = await build("reveals", reveal_epochs=1)
    await rested(world)
    me, planned = await uid_of(world, world.me), rising(world)
    await world.sealed(planned)
    await world.fail_reveals(1)
    result = await send(world, planned)
    assert result.accepted
    for _ in range(100):
        if not await world.run(world.chain.commits(0)):
            break
        await world.pass_blocks(1)
    assert list(await world.run(world.chain.commits(0))) == []
    assert await world.run(world.chain.weights(0, me)) == {}
    assert await world.run(world.chain.last_update(0, me)) == result.block


@pytest.mark.parametrize("phase", get_args(Break))
@pytest.mark.parametrize("reveal_epochs", [0, 1])
async def test_a_broken_connection_is_told_for_what_it_is(build: Build, phase: Break, reveal_epochs: int) -> None:
    world = await build("faults", reveal_epochs=reveal_epochs)
    await rested(world)
    me, planned = await uid_of(world, world.me), rising(world)
    await world.sealed(planned)
    before = await world.run(world.chain.last_update(0, me))
    await world.break_at(phase)
    with pytest.raises((ChainError, TimeoutError)) as caught:
        await world.run(within(world.clock, 100.0, world.chain.set_weights(0, planned, valid_blocks=8)))
    assert isinstance(caught.value, ChainUnreachableError) == (phase == "unsigned")
    await world.break_at(None)
    await world.pass_blocks(world.chain.submission_lifetime(8) + 1)
    arrived = await world.run(world.chain.last_update(0, me)) > before
    assert arrived == (phase in ("pooled", "included", "silent"))


async def test_a_cancelled_submission_never_shows_after_its_lifetime(build: Build) -> None:
    world = await build("faults")
    await rested(world)
    me = await uid_of(world, world.me)
    before = await world.run(world.chain.last_update(0, me))
    await world.break_at("lost")
    with pytest.raises((ChainError, TimeoutError)):
        await world.run(within(world.clock, 0.0, world.chain.set_weights(0, rising(world), valid_blocks=8)))
    await world.break_at(None)
    await world.pass_blocks(world.chain.submission_lifetime(8) + 1)
    assert await world.run(world.chain.last_update(0, me)) == before


async def test_each_mechanism_has_its_own_weights_and_its_own_last_update(build: Build) -> None:
    world = await build("rules", mechanisms=2)
    await rested(world)
    me, target = await uid_of(world, world.me), min(world.miners)
    before = await world.run(world.chain.last_update(0, me))
    result = await world.run(world.chain.set_weights(1, {target: 1.0}, valid_blocks=8))
    assert result.accepted
    assert await world.run(world.chain.weights(1, me)) == {target: 65_535}
    assert await world.run(world.chain.weights(0, me)) == {}
    assert await world.run(world.chain.last_update(1, me)) == result.block
    assert await world.run(world.chain.last_update(0, me)) == before


async def test_a_uid_that_changes_hands_shows_its_new_holder(build: Build) -> None:
    world = await build("slots")
    uid = min(world.miners)
    scored = await world.run(world.chain.snapshot())
    await world.pass_blocks(2)
    assert await world.register(NEWCOMER, instead_of=uid) == uid
    sent = await world.run(world.chain.snapshot())
    assert sent.by_hotkey(world.miners[uid]) is None
    newcomer = sent.by_hotkey(NEWCOMER)
    assert newcomer is not None
    assert newcomer.uid == uid
    assert await world.run(world.chain.registered_at(uid)) > scored.block


async def test_a_metagraph_that_shrinks_refuses_what_is_gone(build: Build) -> None:
    world = await build("slots")
    await rested(world)
    before = await world.run(world.chain.snapshot())
    gone = await world.deregister_last()
    after = await world.run(world.chain.snapshot())
    assert len(after.neurons) == len(before.neurons) - 1
    assert all(neuron.uid != gone for neuron in after.neurons)
    for read in (world.chain.last_update(0, gone), world.chain.registered_at(gone)):
        with pytest.raises(ChainError, match=f"no neuron has uid {gone}") as caught:
            await world.run(read)
        assert not isinstance(caught.value, ChainUnreachableError)
    assert_refused(await send(world, {gone: 1.0}), "invalid_argument", "UidVecContainInvalidOne")


async def test_whoever_is_not_registered_is_refused(build: Build) -> None:
    world = await build()
    await rested(world)
    await world.deregister_me()
    assert_refused(await send(world, rising(world)), "not_registered", "HotKeyNotRegisteredInSubNet")


async def test_a_node_that_goes_away_and_comes_back_serves_again(build: Build) -> None:
    world = await build("outage")
    before = await world.run(world.chain.head())
    await world.reachable(False)
    for call in (world.chain.head(), world.chain.snapshot(), world.chain.wait_for_block(before.number + 1_000)):
        with pytest.raises(ChainUnreachableError):
            await world.run(call)
    with pytest.raises(ChainUnreachableError):
        await send(world, rising(world))
    await world.reachable(True)
    back = None
    while back is None:
        with suppress(ChainUnreachableError):  # the SDK waits longer and longer between two attempts
            back = await world.run(world.chain.wait_for_block(before.number + 1))
    assert back.number > before.number
    await rested(world)
    assert (await send(world, rising(world))).accepted


async def test_a_closed_chain_says_so(build: Build) -> None:
    world = await build()
    await world.run(world.chain.head())
    await world.run(world.chain.close())
    with pytest.raises(ChainError, match="was closed"):
        await world.run(world.chain.head())
    with pytest.raises(ChainError, match="was closed"):
        await send(world, {1: 1.0})
