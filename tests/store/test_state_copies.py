"""Copies of the state: every so many rounds, and before rounds leave the store. The state follows from them again."""

from pathlib import Path

import pytest
from old_rounds import ARCHIVED, archived, opened, put
from pay_world import PayWorld
from sqlalchemy import update
from state_kit import plant
from world import VALIDATOR, World, one_round, online, prepared

from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import void_round
from validator.store import Store
from validator.store.checking import Check, checks
from validator.store.repositories import state as state_tables
from validator.store.repositories.state import NOTHING
from validator.store.stepping import state_after, steps
from validator.store.tables import rounds


async def checked(store: Store, archive: Path | None = None) -> Check:
    async with store.read() as tx:
        return next(check for check in [one async for one in checks(tx, archive)] if check.name == "state")


async def test_the_newest_copies_stay_and_the_state_follows_from_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_tables, "COPY_ROUNDS", 2)
    world = World(store)
    for _ in range(8):
        await one_round(world)
    async with store.read() as tx:
        assert await tx.state.copies() == (4, 6)
        states = [state async for _, state in steps(tx, None, NOTHING)]
        assert [await tx.state.copied(number) for number in (4, 6)] == [states[4], states[6]]
        assert await tx.state.whole() == states[7] == await state_after(tx, 7)
        assert await state_after(tx, 3) == states[3]
    found = await checked(store)
    assert (found.faults, found.looked) == ([], 2 + 1)


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


async def test_before_rounds_leave_the_store_a_copy_is_kept_that_the_others_are_stepped_from(
    played: Path, tmp_path: Path
) -> None:
    url, folder = put(played, f"sqlite:///{tmp_path}/store.sqlite"), tmp_path / "archive"
    folder.mkdir()
    async with opened(url) as store, store.read() as tx:
        before = await state_after(tx, ARCHIVED - 1)
    await archived(url, folder)
    async with opened(url) as store:
        async with store.begin() as tx:
            assert (await tx.state.copies())[-1] == ARCHIVED - 1
            assert await tx.state.copied(ARCHIVED - 1) == before
            newest = await tx.rounds.next_id() - 1
            for number in range(ARCHIVED, newest + 1):
                await tx.state.copy(number, await state_after(tx, number))
            assert (await tx.state.copies())[0] == ARCHIVED - 1  # whatever came later
        found = await checked(store)  # without the folder
        assert found.faults == []
        assert found.looked > 0


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
    assert (state.shared.clouded, [*state.shared.vectors]) == (1, [(1, 0)])
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


async def test_the_state_of_a_copy_needs_no_record(played: Path, tmp_path: Path) -> None:
    url, folder = put(played, f"sqlite:///{tmp_path}/store.sqlite"), tmp_path / "archive"
    folder.mkdir()
    await archived(url, folder)
    async with opened(url) as store, store.read() as tx:
        assert await state_after(tx, ARCHIVED - 1) == await tx.state.copied(ARCHIVED - 1)
