"""Copies of the state: every so many rounds. The state follows from them again."""

from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import update
from state_kit import plant
from weights_world import PayWorld
from world import VALIDATOR, World, on_virtual_time, one_round, online, prepared, tasks_of_all_types

from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType
from sssa.scoring import Schedule
from sssa.state import round_end
from sssa.state.round_end import Change
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import settle_round, void_round
from validator.store import Store
from validator.store.checking import Check, checks
from validator.store.repositories import state as state_tables
from validator.store.repositories.state import NOTHING
from validator.store.stepping import steps
from validator.store.tables import rounds
from validator.tasks.source import MemorySource


async def checked(store: Store) -> Check:
    async with store.read() as tx:
        return next(check for check in [one async for one in checks(tx)] if check.name == "state")


async def test_the_newest_copies_stay_and_the_state_follows_from_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_tables, "COPY_ROUNDS", 2)
    for module in (state_tables, round_end):
        monkeypatch.setattr(module, "FROZEN_ROUNDS", 3)
    world = World(store)
    for _ in range(8):
        await one_round(world)
    async with store.read() as tx:
        assert await tx.state.copies() == (4, 6)
        states = [state async for _, state in steps(tx, None, NOTHING)]
        assert [await tx.state.copied(number) for number in (4, 6)] == [states[4], states[6]]
        assert await tx.state.whole() == states[7]
        assert [one.number for one in states[7].shared.rounds] == [5, 6, 7]
    found = await checked(store)
    assert (found.faults, found.looked) == ([], 2 + 1)


async def test_who_was_busy_keeps_its_turn_and_who_was_barred_waits_with_the_median(store: Store) -> None:
    kind = SkillType.DECLARATIVE
    world = World(
        store, miners=9, source=MemorySource([one for one in tasks_of_all_types() if one.task.skill_type == kind])
    )
    world.at_once = 1
    world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({"2.0.0": 0}))
    barred = next(iter(world.signers))
    await one_round(world)
    async with store.begin() as tx:
        for number, hotkey in enumerate(world.signers):
            await plant(tx, partial(Change.update, key=(hotkey, kind), turn=10 * number))
        await plant(tx, partial(Change.update, key=(barred, kind), reputation=0.1))
    round_ = await prepared(world)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
    excluded = {(hotkey, reason) for group in round_.plan.groups for hotkey, reason in group.excluded.items()}
    assert {reason for hotkey, reason in excluded if hotkey == barred} == {Reason.LOW_REPUTATION}
    assert {reason for hotkey, reason in excluded if hotkey != barred} == {Reason.IN_FLIGHT}
    async with store.read() as tx:
        state = await tx.state.whole()
    turns = {hotkey: state.pair(hotkey, kind).turn for hotkey in world.signers}
    following = await prepared(world)
    frozen = {one.hotkey: (one.turns or {})[kind] for one in following.frozen.miners}
    assert turns[barred] == 0 < frozen[barred]
    assert frozen == turns | {barred: frozen[barred]}


async def test_a_copy_and_a_state_that_do_not_follow_are_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_tables, "COPY_ROUNDS", 2)
    world = World(store)
    for _ in range(6):
        await one_round(world)
    hotkey = next(iter(world.signers))
    async with store.begin() as tx:
        copy = await tx.state.copied(4)
        await tx.state.copy(4, NOTHING)
    found = await checked(store)
    assert found.faults[0].startswith("the state of the copy after round 4 of 5")
    async with store.begin() as tx:
        await tx.state.copy(4, copy)
        await plant(tx, lambda change: change.update((hotkey, SkillType.RAG_KNOWLEDGE), reputation=0.123))
    assert (await checked(store)).faults == [f"the state of {hotkey} does not follow from the rounds"]


async def test_vectors_and_rounds_that_nobody_can_read_are_steps_too(store: Store) -> None:
    world = PayWorld(store)
    await world.rounds(1)
    await world.reason(world.hotkeys[0])  # computes a vector
    opened_ = await prepared(world.world)
    async with store.begin() as tx:
        unreadable = update(rounds).where(rounds.c.round_id == opened_.frozen.index).values(input=b"?")
        await tx.connection.execute(unreadable)
    assert await resume_rounds(store, world.world.clock, VALIDATOR, world.world.gates, online) == ["1"]
    async with store.read() as tx:
        state = await tx.state.whole()
    assert (state.shared.unknown_plan, [*state.shared.vectors]) == (1, [(1, 0)])
    assert (await checked(store)).faults == []


async def test_the_state_is_stepped_through_a_void_round(store: Store) -> None:
    world = World(store)
    await one_round(world)
    round_ = await prepared(world)
    await void_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, Reason.VOID_OFFLINE)
    async with store.read() as tx:
        assert [one.counted for one in (await tx.state.whole()).shared.rounds] == [True, True]
    found = await checked(store)
    assert (found.faults, found.looked) == ([], 2)
