"""A mechanism younger than the neuron: the chain keeps no block of its updates, and shows the registration instead."""

from typing import Any

import pytest
from weights_world import World, blocks, build, give_scores, restarted, run_until, running

from localnet.chain.simulated import SimulatedChain
from validator.store import Store
from validator.telemetry import Event

KINDS = {"assessment_mechid": 1, "workflow_mechid": 0}


class Young(SimulatedChain):
    async def last_update(self, mechid: int, uid: int) -> int:
        return self.subnet.registered_at(uid)


def young(store: Store, before_end: int = 5, **rules: Any) -> World:
    world = build(store, settings=KINDS | {"blocks_before_epoch_end": before_end}, chain=Young, mechanisms=2, **rules)
    world.mechid = 1
    return restarted(world)


async def test_every_epoch_is_served(store: Store) -> None:
    world = young(store)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    await run_until(world, 62)
    assert blocks(await world.records()) == [(0, "confirmed", 14), (1, "confirmed", 34), (2, "confirmed", 54)]
    assert world.reasons() == []


@pytest.mark.parametrize("hidden", [False, True])
async def test_what_arrived_unseen_is_found_by_what_it_left_and_not_sent_again(store: Store, hidden: bool) -> None:
    world = young(store, reveal_epochs=int(hidden))
    await give_scores(store, world.subnet, {"miner0": 1.0})
    world.chain.faults.lost_answers = 1
    await run_until(world, 19)
    (record,) = await world.records()
    assert (record.state, record.block, world.sent) == ("confirmed", 14, [14])
    assert [line["block"] for line in world.events(Event.WEIGHTS_CONFIRMED_LATE)] == [14]


async def test_what_did_not_arrive_is_sent_again_once_it_no_longer_can(store: Store) -> None:
    world = young(store, 15, tempo=39)
    await give_scores(store, world.subnet, {"miner0": 1.0})
    world.chain.faults.delay = None
    async with running(world):
        await world.until_block(28)
        world.chain.faults.delay = 0
        await world.until_block(39)
    (record,) = await world.records()
    assert (record.state, record.attempts, world.sent) == ("confirmed", 2, [24, 29])
