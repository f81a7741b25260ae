"""New rounds are frozen under the version that their epoch has; a store of a newer program is left alone."""

from dataclasses import replace

import msgspec
import pytest
from world import World, prepared

from sssa.scoring import Schedule, UnknownScoringVersionError, plan_round, version
from validator.rounds.prepare import Prepared
from validator.store import Store
from validator.store.identity import require_known_version


async def test_a_round_is_frozen_under_the_version_of_its_epoch(store: Store) -> None:
    world = World(store, tempo=5_000)  # virtual time runs on while a round is prepared
    await world.clock.advance(5_001.0)
    epoch = (await world.chain.snapshot()).epoch
    for starts, name in (({"1.0.0": 0, "2.0.0": epoch + 1}, "1.0.0"), ({"1.0.0": 0, "2.0.0": epoch}, "2.0.0")):
        world.preparer = replace(world.preparer, schedule=Schedule(starts))
        round_ = await prepared(world)
        assert isinstance(round_, Prepared)
        assert (round_.frozen.snapshot.epoch, round_.frozen.scoring_version) == (epoch, name)
        assert round_.plan == plan_round(version(name), round_.frozen)


async def test_a_store_whose_newest_round_nobody_here_scores_is_refused_in_one_line(store: Store) -> None:
    world = World(store)
    round_ = await prepared(world)
    async with store.read() as tx:
        await require_known_version(tx)
    newer = msgspec.structs.replace(round_.frozen, round_id="1", scoring_version="9.0.0")
    async with store.begin() as tx:
        await tx.rounds.open(newer, msgspec.structs.replace(round_.plan, round_id="1"), world.clock.now())
    async with store.read() as tx:
        with pytest.raises(UnknownScoringVersionError) as caught:
            await require_known_version(tx)
    assert str(caught.value) == (
        "No code here scores this version: `9.0.0`; this program scores 1.0.0, 2.0.0; round 1 of the store "
        "has it: use the program that froze it, or a newer one"
    )


async def test_a_store_without_rounds_is_anybodys(store: Store) -> None:
    async with store.read() as tx:
        await require_known_version(tx)
