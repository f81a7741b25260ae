"""Paid is who could be drawn, over whole rounds and the weights loop, on both databases (SPEC 11, D-23)."""

import pytest
from sqlalchemy import update
from state_kit import plant_flag, reputations_of
from weights_world import BROKEN, KIND, PayWorld
from world import VALIDATOR

from sssa.protocol.reasons import Reason
from sssa.protocol.remedies import REMEDIES
from sssa.protocol.round import FlagRaised
from sssa.protocol.skill_types import SkillType
from validator.audit.explain.miner import explain_miner
from validator.audit.views import miner_list
from validator.miners.scripted import ScriptedReply
from validator.settings.model import Settings
from validator.store import Store
from validator.store.tables import rounds
from validator.telemetry import Event
from validator.weights.preview import planned_weights

GARBAGE = ScriptedReply(b"garbage", seconds=0.5)


async def test_who_withdraws_is_unpaid_and_paid_again_once_it_declares(store: Store) -> None:
    world = PayWorld(store)
    left = world.hotkeys[0]
    await world.rounds(2)
    assert await world.reason(left) is None
    world.declare(left, SkillType.RAG_KNOWLEDGE)
    await world.rounds(2)
    assert await world.reason(left) == "undeclared"
    assert await world.reason(left) == "undeclared"  # an epoch without a round: the last one counts
    world.declare(left, KIND)
    await world.rounds()
    assert await world.reason(left) is None


async def test_declaring_for_a_part_of_the_epoch_pays_only_from_half_of_its_rounds_on(store: Store) -> None:
    world = PayWorld(store)
    sometimes = world.hotkeys[0]
    await world.rounds()
    assert await world.reason(sometimes) is None
    for epoch, declared in enumerate(((True, False, False), (False, True), (False, False, True))):
        for here in declared:
            world.declare(sometimes, KIND if here else SkillType.MCP_SERVER)
            await world.rounds()
        assert await world.reason(sometimes) == (None if epoch == 1 else "undeclared")


async def test_who_is_ejected_is_unpaid_until_the_operator_clears_the_flags(store: Store) -> None:
    world = PayWorld(store)
    caught = world.hotkeys[0]
    await world.rounds(2)
    for number, kind in enumerate((SkillType.MCP_SERVER, SkillType.RAG_KNOWLEDGE, KIND)):
        assert await world.reason(caught) is None
        async with store.begin() as tx:
            await plant_flag(
                tx, FlagRaised(caught, kind, 0.95, 0.4, 0.25, 0.75, 5), number % 2, world.world.clock.now()
            )
    assert await world.reason(caught) == "collusion_flags"
    await world.rounds()
    assert await world.reason(caught) == "collusion_flags"
    async with store.begin() as tx:
        await tx.acts.clear(caught, "looked into", world.world.clock.now())
    assert await world.reason(caught) == "collusion_flags"  # the log does not say so yet
    await world.rounds()
    assert await world.reason(caught) is None


async def test_under_a_fifth_is_unpaid_then_unproven_then_paid_after_an_accepted_answer(store: Store) -> None:
    world = PayWorld(store)
    bad = world.hotkeys[0]
    await world.rounds(2)
    world.odd[bad] = GARBAGE
    await world.rounds(2)
    assert await world.reason(bad) == "low_reputation"
    (told,) = await world.unpaid()
    assert (told.hotkey, told.skill_type, told.reason) == (bad, str(KIND), "low_reputation")
    del world.odd[bad]
    await world.rounds()  # left out: it gains its 0.005, and is known as excluded
    async with store.begin() as tx:
        before = (await reputations_of(tx))[bad, KIND]
        assert before < 0.2
    while before < 0.2:
        await world.rounds()
        async with store.read() as tx:
            before = (await reputations_of(tx))[bad, KIND]
    assert await world.reason(bad) == "unproven"
    assert "left out of round" in (await world.unpaid())[0].detail
    await world.rounds()
    assert await world.reason(bad) is None


async def test_failing_too_often_is_unpaid_then_unproven_then_paid_after_an_accepted_answer(store: Store) -> None:
    world = PayWorld(store)
    down = world.hotkeys[0]
    await world.rounds()
    world.odd[down] = BROKEN
    await world.rounds(2)
    assert await world.reason(down) == "failure_rate"
    assert (await world.unpaid())[0].detail == "4 of 6 failed"
    del world.odd[down]
    await world.rounds()
    assert await world.reason(down) == "failure_rate"
    async with store.begin() as tx:
        for _ in range(30):
            number, snapshot = await tx.rounds.next_id(), world.world.subnet.snapshot()
            await tx.rounds.skip(
                number,
                epoch=snapshot.epoch,
                block=snapshot.block,
                block_hash=snapshot.block_hash,
                reason=Reason.SKIPPED_NO_TASKS,
                at=world.world.clock.now(),
            )
    assert await world.reason(down) == "unproven"
    await world.rounds()
    assert await world.reason(down) is None


async def test_since_when_is_kept_while_the_reason_stays(store: Store) -> None:
    world = PayWorld(store)
    left = world.hotkeys[0]
    await world.rounds(2)
    world.declare(left)
    await world.rounds(3)
    first = await world.vector()
    await world.rounds()
    assert [(told.epoch, told.round_id) for told in await world.unpaid()] == [(first["epoch"], 4)]
    later = await world.vector()
    assert first["epoch"] < later["epoch"]
    (told,) = await world.unpaid()
    assert (told.epoch, told.round_id) == (first["epoch"], 4)
    async with store.read() as tx:
        kept = await tx.vectors.newest(1, 0)
    assert kept is not None
    assert kept.unpaid == (told,)
    assert (kept.epoch, kept.round_id, kept.block, kept.scoring_version) == (later["epoch"], 5, later["block"], "1.0.0")


async def test_attempts_within_an_epoch_compute_the_same(store: Store) -> None:
    world = PayWorld(store)
    left = world.hotkeys[0]
    await world.rounds()
    await world.vector()
    world.declare(left)
    await world.rounds(2)
    world.declare(left, KIND)
    await world.rounds()
    first = await world.vector()
    assert first["unpaid"][left] == {str(KIND): "undeclared"}
    again = (await world.unpaid())[0]
    assert (again.reason, again.detail) == ("undeclared", "declared in 1 of 3 rounds")


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
async def test_the_version_of_the_newest_round_decides_and_is_named(store: Store, version: str) -> None:
    world = PayWorld(store, version)
    world.declare(world.hotkeys[0])
    await world.rounds(2)
    world.declare(world.hotkeys[0], KIND)
    for hotkey in world.hotkeys[1:3]:
        world.declare(hotkey)
    await world.rounds(3)
    line = await world.vector()
    assert line["scoring_version"] == version
    assert set(line["unpaid"]) == set(world.hotkeys[1:3])


async def test_a_round_of_an_unknown_version_is_said_and_nothing_is_computed(store: Store) -> None:
    world = PayWorld(store)
    await world.rounds()
    async with store.begin() as tx:
        await tx.connection.execute(update(rounds).values(scoring_version="9.0.0"))
    line = await world.line(Event.WEIGHTS_BLOCKED)
    assert line["reason"] == "weights_scoring_version"
    assert line["detail"].startswith("`9.0.0`; this program scores ")
    async with store.read() as tx:
        assert await tx.vectors.newest(1, 0) is None


async def test_the_plan_and_the_metric_say_who_is_unpaid(store: Store) -> None:
    world = PayWorld(store)
    left = world.hotkeys[0]
    await world.rounds()
    await world.vector()
    world.declare(left)
    await world.rounds()
    await world.vector()
    metric = {"mechid": "0", "reason": "undeclared"}
    assert world.metrics.registry.get_sample_value("validator_unpaid_windows", metric) == 1
    metric["reason"] = "unproven"
    assert world.metrics.registry.get_sample_value("validator_unpaid_windows", metric) == 0
    settings = Settings.model_validate({"validator": {"netuid": 1}})
    async with store.read() as tx:
        chain, clock = world.world.chain, world.world.clock
        (view,) = await planned_weights(tx, settings, chain, clock, VALIDATOR.hotkey)
        listed = {miner.hotkey: miner for miner in await miner_list(tx, clock.now())}
        explained = await explain_miner(tx, left, 5, clock.now())
    (told,) = view.unpaid
    assert (told.hotkey, told.skill_type, told.reason, told.since_round) == (left, str(KIND), "undeclared", 1)
    assert told.remedy == REMEDIES[Reason.UNDECLARED]
    assert next(line for line in view.lines if line.hotkey == left).planned == 0
    assert listed[left].unpaid == explained.unpaid == (told,)
    assert (listed[left].score, explained.score, explained.weights) == (0, 0, {0: 0.0})
    assert {miner.unpaid for one, miner in listed.items() if one != left} == {()}


def test_every_reason_of_the_rule_has_a_remedy() -> None:
    assert [str(reason) for reason in REMEDIES] == [
        "collusion_flags",
        "undeclared",
        "low_reputation",
        "failure_rate",
        "unproven",
    ]
    assert Reason.IN_FLIGHT not in REMEDIES
