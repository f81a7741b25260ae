"""The log tells every vector before it is sent, also when it is not, and the result of it (SPEC 16, D-28)."""

import pytest
from weights_in_log import weights_in_log
from weights_world import ME, MINERS, OWNER, build, give_scores, restarted, run_until, running, scored

from validator.store import Store

SCORES = {hotkey: 1.0 + n for n, hotkey in enumerate(MINERS)}


async def test_a_vector_is_told_before_it_is_sent_and_its_fate_after(store: Store) -> None:
    world = build(store)
    world.subnet.register("gone")
    await give_scores(store, world.subnet, {**SCORES, "gone": 9.0})
    world.subnet.deregister("gone")
    await run_until(world, 36)
    log = await weights_in_log(store)
    assert log.kinds == ["opening", "sent", "confirmed", "sent", "confirmed"]
    first, second = await world.records()
    assert (first.link, second.link) == (1, 3)
    link, document = log.vectors[1]
    assert (link.netuid, link.mechid, link.epoch, link.reason, link.scoring_version) == (1, 0, 0, None, "1.0.0")
    assert link.block <= (first.block or 0) == log.fates[0].block
    assert log.fates[0].extrinsic == first.extrinsic
    assert {one.hotkey: one.weight for one in document.miners} == first.vector  # who is not registered is left out
    assert {one.hotkey: one.assessments for one in document.miners} == SCORES
    uids = {neuron.hotkey: neuron.uid for neuron in world.subnet.snapshot().neurons}
    assert [one.uid for one in document.miners] == [uids[one.hotkey] for one in document.miners]
    assert document.owner is not None
    assert (document.owner.hotkey, document.owner.uid) == (OWNER, uids[OWNER])
    assert (document.round_id, document.next_round, document.since_round) == ("0", "1", None)
    assert log.vectors[3][1].since_round == "0"
    assert dict(document.row) == dict(first.sent or {})
    assert dict(log.newest[1, 0].row) == dict(world.subnet.weights(0, uids[ME]))
    async with store.read() as tx:
        vector = await tx.vectors.of_epoch(1, 0, 1)
    assert vector is not None
    assert vector.link == 3


async def test_what_is_not_sent_is_told_once_for_each_reason(store: Store) -> None:
    world = build(store)
    world.subnet.set_permit(ME, validator_permit=False)
    await give_scores(store, world.subnet, SCORES)
    async with running(world):
        await world.until_block(16)
        assert (await weights_in_log(store)).short() == ["weights_no_permit"]
        world.subnet.set_permit(ME, validator_permit=True)
        world.subnet.set_stake(ME, 1.0)
        await world.until_block(17)
        world.subnet.set_stake(ME, 100.0)
        await world.until_block(20)
    assert (await weights_in_log(store)).short() == ["weights_no_permit", "weights_low_stake", "sent", "confirmed"]


async def test_an_epoch_of_one_cause_after_the_other_is_told_so_often_and_no_more(store: Store) -> None:
    world = await scored(store, SCORES, settings={"blocks_before_epoch_end": 19})
    async with running(world):
        for block in range(2, 19):
            world.subnet.set_permit(ME, validator_permit=block % 2 == 0)
            world.subnet.set_stake(ME, 1.0)
            await world.until_block(block)
        assert len((await weights_in_log(store)).short()) == 8
        world.subnet.set_permit(ME, validator_permit=True)
        world.subnet.set_stake(ME, 100.0)
        await world.until_block(20)
    assert (await weights_in_log(store)).short()[8:] == ["sent", "confirmed"]


@pytest.mark.parametrize(("scores", "reason"), [({}, "weights_none_positive"), (SCORES, "weights_dry_run")])
async def test_without_scores_and_in_a_dry_run_the_log_says_so(
    store: Store, scores: dict[str, float], reason: str
) -> None:
    world = await scored(store, scores, settings={"dry_run": True})
    await run_until(world, 38)
    log = await weights_in_log(store)
    assert log.short() == [reason, reason]
    assert [link.epoch for link, _ in log.vectors.values()] == [0, 1]
    assert {bool(document.row) for _, document in log.vectors.values()} == {bool(scores)}


async def test_what_cannot_leave_is_told_once_and_expires_with_its_epoch(store: Store) -> None:
    world = await scored(store, SCORES)
    world.chain.faults.unsent = 1_000
    async with running(world):
        await world.until_block(20)
        assert (await weights_in_log(store)).short() == ["sent"]
        world.chain.faults.unsent = 0
        await world.until_block(36)
    assert (await weights_in_log(store)).short() == ["sent", "sent", "expired", "confirmed"]


async def test_an_answer_that_never_came_is_unknown_until_the_chain_shows_which(store: Store) -> None:
    world = await scored(store, SCORES)
    world.chain.faults.lost_answers = 1
    await run_until(world, 20)
    assert (await weights_in_log(store)).short() == ["sent", "unknown", "confirmed"]
    world.chain.faults.delay = None
    await run_until(restarted(world), 49)
    assert (await weights_in_log(store)).short()[3:] == ["sent", "unknown", "expired"]
