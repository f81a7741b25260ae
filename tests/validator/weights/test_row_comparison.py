"""Comparison of the row on chain with the one that was sent: after inclusion, and in the epoch of a reveal."""

import pytest
from weights_world import ME, World, give_scores, restarted, run_until, running, scored

from validator.store import Store
from validator.telemetry import Event

SCORES = {f"miner{number}": 1.0 + number for number in range(8)}
OTHERS = {f"miner{number}": 9.0 - number for number in range(8)}


async def row_states(world: World) -> list[str | None]:
    return [record.row_state for record in await world.records()]


async def confirmed_epoch(world: World) -> int | None:
    async with world.store.read() as tx:
        return await tx.weights.confirmed_epoch(1, 0)


async def test_a_row_in_the_open_is_read_back_after_its_inclusion(store: Store) -> None:
    world = await scored(store, SCORES, weights_rate_limit=5)
    world.subnet.altered_rows = 1
    async with running(world):
        await world.until_block(16)
        assert await row_states(world) == ["altered"]
        assert world.conditions() == {"weights_altered": "mechanism 0: weights of epoch 0"}
        await world.until_block(36)
    assert (await row_states(world), world.conditions()) == (["altered", "as_sent"], {})
    assert [(line["epoch"], line["state"], line["log_level"]) for line in world.events(Event.WEIGHTS_ROW)] == [
        (0, "altered", "warning"),
        (1, "as_sent", "info"),
    ]


async def test_an_altered_row_of_a_killed_submission_is_no_strangers(store: Store) -> None:
    """Our row, once clipped, had been taken for somebody else's, and locked the weights."""
    world = await scored(store, SCORES, weights_rate_limit=5)
    world.subnet.altered_rows, world.chain.faults.lost_answers = 1, 1
    await run_until(world, 15)
    await run_until(restarted(world), 17)
    (record,) = await world.records()
    assert (record.state, record.block, record.row_state) == ("confirmed", 14, "altered")
    assert set(world.conditions()) == {"weights_altered"}


async def test_the_condition_is_back_after_a_restart(store: Store) -> None:
    world = await scored(store, SCORES, weights_rate_limit=5)
    world.subnet.altered_rows = 1
    await run_until(world, 16)
    await run_until(restarted(world), 18)
    assert set(world.conditions()) == {"weights_altered"}


@pytest.mark.parametrize("reveal_epochs", [1, 3])
async def test_a_commitment_is_followed_to_its_reveal(store: Store, reveal_epochs: int) -> None:
    world = await scored(store, SCORES, weights_rate_limit=5, reveal_epochs=reveal_epochs)
    async with running(world):
        await world.until_block(16)
        assert (await row_states(world), await confirmed_epoch(world)) == (["committed"], 0)
        await world.until_block(20 * reveal_epochs + 5)
        states = await row_states(world)
    assert states == ["revealed"] + ["committed"] * (reveal_epochs - 1)
    assert (world.conditions(), await confirmed_epoch(world)) == ({}, reveal_epochs - 1)


@pytest.mark.parametrize("fault", ["lost", "refused"])
async def test_a_reveal_that_fails_is_said_in_the_epoch_of_the_reveal(store: Store, fault: str) -> None:
    """The runtime drops it without a word: drand's pulse never came, or it refuses the row that it then sees."""
    world = await scored(store, SCORES, weights_rate_limit=5, reveal_epochs=1)
    async with running(world):
        await world.until_block(16)
        if fault == "lost":
            world.subnet.failing_reveals = 1
        else:
            world.subnet.set_permit(ME, validator_permit=False)
        await world.until_block(25)
        world.subnet.set_permit(ME, validator_permit=True)
        assert await row_states(world) == ["reveal_failed"]
        assert world.conditions() == {"weights_reveal_failed": "mechanism 0: weights of epoch 0"}
        await world.until_block(38)
        assert (await row_states(world), await confirmed_epoch(world)) == (["reveal_failed", "committed"], None)
        await world.until_block(45)
    assert (await row_states(world), await confirmed_epoch(world)) == (["reveal_failed", "revealed"], 1)
    assert world.conditions() == {}


async def test_a_second_reveal_that_fails_leaves_the_row_before(store: Store) -> None:
    world = await scored(store, SCORES, weights_rate_limit=5, reveal_epochs=1)
    async with running(world):
        await world.until_block(25)
        world.subnet.failing_reveals = 1
        await give_scores(store, world.subnet, OTHERS, round_id=1)
        await world.until_block(45)
    assert await row_states(world) == ["revealed", "reveal_failed"]
    assert set(world.conditions()) == {"weights_reveal_failed"}
    assert await confirmed_epoch(world) == 0


async def test_a_revealed_row_that_differs_is_altered(store: Store) -> None:
    world = await scored(store, SCORES, weights_rate_limit=5, reveal_epochs=1)
    world.subnet.altered_rows = 1
    await run_until(world, 25)
    assert (await row_states(world), set(world.conditions())) == (["altered"], {"weights_altered"})


async def test_a_row_that_differs_after_an_altered_one_is_undetermined(store: Store) -> None:
    """It may be this reveal, altered too, or the altered row before it, of which the store has no content."""
    world = await scored(store, SCORES, weights_rate_limit=5, reveal_epochs=1)
    world.subnet.altered_rows = 2
    async with running(world):
        await world.until_block(25)
        await give_scores(store, world.subnet, OTHERS, round_id=1)
        await world.until_block(45)
    assert (await row_states(world), set(world.conditions())) == (["altered", "undetermined"], {"weights_altered"})
    assert await confirmed_epoch(world) == 0


async def test_a_reveal_that_happened_while_nobody_looked_is_unseen_if_a_later_row_is_in_force(store: Store) -> None:
    world = await scored(store, SCORES, weights_rate_limit=5, reveal_epochs=2)
    async with running(world):
        await world.until_block(16)
        await give_scores(store, world.subnet, OTHERS, round_id=1)
        await world.until_block(38)
    await world.clock.advance(60.0)
    async with running(restarted(world)):
        await world.until_block(world.subnet.blocks.number() + 3)
    assert await row_states(world) == ["unseen", "revealed", "committed"]
