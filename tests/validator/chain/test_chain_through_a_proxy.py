"""Connection faults other than breaks under a submission: held answers, lost and late heads, cuts."""

import pytest
from chain_worlds import Build, NodeWorld, ServedWorld, World
from rpc_proxy import ANY, HEADS, SUBMIT, Message, RpcProxy, Rule

from validator.chain.interface import ChainError, ChainUnreachableError


async def behind(build: Build) -> tuple[World, RpcProxy]:
    world = await build("proxy")
    assert isinstance(world, ServedWorld | NodeWorld)
    await world.chain.head()
    parameters = await world.chain.parameters()
    await world.pass_blocks(parameters.weights_rate_limit + 1)
    return world, world.proxy


async def updated(world: World) -> int:
    me = (await world.chain.snapshot()).by_hotkey(world.me)
    assert me is not None
    return await world.chain.last_update(0, me.uid)


async def test_an_answer_that_is_held_past_the_limit_leaves_the_submission_unknown(build: Build) -> None:
    world, proxy = await behind(build)
    before = await updated(world)
    held = proxy.rule("hold", "answer", SUBMIT)
    with pytest.raises(ChainError, match="its fate is unknown: no answer within") as caught:
        await world.chain.set_weights(0, {min(world.miners): 1.0}, valid_blocks=8)
    assert not isinstance(caught.value, ChainUnreachableError)
    assert held.hits == 1
    proxy.mend()
    await world.pass_blocks(world.chain.submission_lifetime(8) + 1)
    assert await updated(world) > before
    assert proxy.seen.count(Message("request", SUBMIT)) == 1


async def test_a_read_whose_answer_is_held_ends_with_the_limit_and_the_next_one_works(build: Build) -> None:
    world, proxy = await behind(build)
    proxy.rule("hold", "answer", ANY, times=1)
    with pytest.raises(ChainUnreachableError, match=r"head: no answer within"):
        await world.chain.head()
    proxy.mend()
    assert (await world.chain.head()).number > 0


async def test_heads_that_are_lost_are_said_to_be_and_do_no_harm_when_they_come_again(build: Build) -> None:
    world, proxy = await behind(build)
    head = await world.chain.head()
    proxy.rule("drop", "notice", HEADS)
    with pytest.raises(ChainUnreachableError, match="no new block for"):
        await world.chain.wait_for_block(head.number + 1_000_000)
    proxy.mend()
    now = await world.chain.head()
    assert (await world.chain.wait_for_block(now.number + 2)).number >= now.number + 2


async def test_heads_that_come_late_are_waited_for_and_are_the_newest_when_they_are_read(build: Build) -> None:
    world, proxy = await behind(build)
    head = await world.chain.head()
    late = proxy.rule("delay", "notice", HEADS, seconds=0.3)
    reached = await world.chain.wait_for_block(head.number + 2)
    assert reached.number >= head.number + 2
    assert late.hits >= 1


@pytest.mark.parametrize(
    "rule",
    [
        Rule("cut", "request", "state_queryStorageAt", times=1),
        Rule("cut", "answer", "state_queryStorageAt", times=1),
        Rule("cut_after", "answer", "chain_getHead", times=1),
        Rule("cut", "notice", HEADS, times=1),
    ],
    ids=lambda rule: f"{rule.action}-{rule.kind}",
)
async def test_a_connection_that_is_cut_is_made_anew_within_the_same_question(build: Build, rule: Rule) -> None:
    world, proxy = await behind(build)
    number = (await world.chain.head()).number
    cut = proxy.rule(rule.action, rule.kind, rule.method, times=rule.times)
    assert (await world.chain.wait_for_block(number + 3)).number >= number + 3
    assert cut.hits == rule.times


async def test_a_submission_that_was_cut_is_never_sent_again_by_what_connects_anew(build: Build) -> None:
    world, proxy = await behind(build)
    for kind in ("request", "answer"):
        proxy.rule("cut", kind, SUBMIT, times=1)
        with pytest.raises(ChainError, match="unknown"):
            await world.chain.set_weights(0, {min(world.miners): 1.0}, valid_blocks=8)
        proxy.mend()
        await world.pass_blocks(world.chain.submission_lifetime(8) + 1)
    assert proxy.seen.count(Message("request", SUBMIT)) == 2
