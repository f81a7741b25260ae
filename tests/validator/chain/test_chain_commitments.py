"""Contract of commitments: simulated chain, the SDK over nodes in memory and on a socket, and a real node."""

import pytest
from chain_worlds import MINERS, Build, LocalWorld, SdkWorld, World

from validator.chain.interface import ChainError, ChainUnreachableError, Commitment, MissingError, WeightsResult

FIRST, SECOND = b"sssa-log:1:7:" + b"ab" * 32, b"\x00\xff" * 64


async def commit(world: World, content: bytes) -> WeightsResult:
    return await world.run(world.chain.set_commitment(content, valid_blocks=8))


async def seen(world: World, hotkey: str | None = None) -> Commitment | None:
    return await world.run(world.chain.commitment(hotkey or world.me))


async def test_the_newest_commitment_stands_until_the_next(build: Build) -> None:
    world = await build()
    assert await seen(world) is None
    for content in (FIRST, SECOND):
        result = await commit(world, content)
        assert (result.accepted, result.message) == (True, "")
        assert result.block is not None
        assert await seen(world) == Commitment(result.block, content)
    assert await seen(world, MINERS[0].hotkey) is None


async def test_weights_and_commitments_do_not_touch_each_other(build: Build) -> None:
    world = await build()
    await world.pass_blocks((await world.run(world.chain.parameters())).weights_rate_limit + 1)
    me = (await world.run(world.chain.snapshot())).by_hotkey(world.me)
    assert me is not None
    assert (await world.run(world.chain.set_weights(0, {min(world.miners): 1.0}, valid_blocks=8))).accepted
    updated = await world.run(world.chain.last_update(0, me.uid))
    assert (await commit(world, FIRST)).accepted
    assert await world.run(world.chain.last_update(0, me.uid)) == updated
    assert set(await world.run(world.chain.weights(0, me.uid))) == {min(world.miners)}


async def test_more_than_an_epochs_space_is_refused_and_changes_nothing(build: Build) -> None:
    world = await build("rules", tempo=999, commitment_space=250)
    first, second = await commit(world, b"a"), await commit(world, b"b")
    assert (first.accepted, second.accepted) == (True, True)
    third = await commit(world, b"c")
    assert (third.accepted, "SpaceLimitExceeded" in third.message) == (False, True)
    found = await seen(world)
    assert found is not None
    assert found.content == b"b"


async def test_without_a_slot_nothing_can_be_committed(build: Build) -> None:
    world = await build()
    await world.deregister_me()
    refused = await commit(world, FIRST)
    assert (refused.accepted, "AccountNotAllowedCommit" in refused.message) == (False, True)


async def test_what_breaks_before_the_signature_was_not_sent(build: Build) -> None:
    world = await build("faults")
    await world.break_at("unsigned")
    with pytest.raises(ChainUnreachableError):
        await commit(world, FIRST)
    await world.break_at(None)
    await world.pass_blocks(4)
    assert await seen(world) is None


async def test_what_breaks_afterwards_may_be_there(build: Build) -> None:
    world = await build("faults")
    await world.break_at("pooled")
    with pytest.raises(ChainError) as caught:
        await commit(world, FIRST)
    assert not isinstance(caught.value, ChainUnreachableError)
    await world.break_at(None)
    await world.pass_blocks(4)
    found = await seen(world)
    assert found is not None
    assert found.content == FIRST


async def test_a_runtime_without_commitments_says_so() -> None:
    world = SdkWorld()
    world.node.lacks = frozenset({"CommitmentOf", "set_commitment"})
    with pytest.raises(MissingError):
        await seen(world)
    with pytest.raises(MissingError, match="set_commitment: the runtime has no such call"):
        await commit(world, FIRST)
    assert world.node.sent == []
    await world.close()


@pytest.mark.parametrize(
    "fields",
    [
        [{"Sha256": "0x" + "ab" * 32}],
        [{"Raw1": "0x61"}, {"Raw1": "0x62"}],
        ["ResetBondsFlag"],
        [{"TimelockEncrypted": {"encrypted": "0x00", "reveal_round": 1}}],
        [],
    ],
)
async def test_what_is_not_one_plain_field_has_no_content(
    fields: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = SdkWorld()
    record = {"deposit": 0, "block": 5, "info": {"fields": fields}}
    monkeypatch.setattr("subtensor_node.commitment", lambda *_: record)
    assert await seen(world) == Commitment(5, None)
    await world.close()


async def test_a_simulated_chains_file_keeps_commitments(build: Build) -> None:
    world = await build()
    if not isinstance(world, LocalWorld):
        pytest.skip("a subnet in this process")
    await commit(world, FIRST)
    (row,) = world.subnet.state.commitments
    assert (row.hotkey, row.content, row.space) == (world.me, FIRST.hex(), 100)
