"""An operator's act is in the input of exactly one round: the first one frozen after it (SPEC 16, D-28)."""

from pathlib import Path

from audit_file import receipts
from sqlalchemy import text
from state_kit import plant_flag
from weights_world import KIND
from world import VALIDATOR, World, frozen_of, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.protocol.round import MAX_ACTS, Acts, ClearedFlag, FlagRaised, FlagsCleared
from sssa.protocol.skill_types import SkillType
from sssa.protocol.times import format_time
from validator.rounds.resume import resume_rounds
from validator.store import Store
from validator.tasks.source import MemorySource


def world_of(store: Store) -> World:
    return World(store, miners=3, source=MemorySource(tasks_of_all_types()[1:2]))


async def play(world: World) -> None:
    await on_virtual_time(world, world.service.one_round())


async def flag(world: World, hotkey: str, round_id: int, kind: SkillType = KIND) -> None:
    async with world.store.begin() as tx:
        await plant_flag(tx, FlagRaised(hotkey, kind, 0.95, 0.4, 0.25, 0.75, 5), round_id, world.clock.now())


async def clear(world: World, hotkey: str, reason: str = "looked into") -> str:
    now = world.clock.now()
    async with world.store.begin() as tx:
        assert await tx.acts.clear(hotkey, reason, now)
    return format_time(now)


async def acts_by_round(store: Store) -> list[Acts]:
    ended = [one.round.index for one in await receipts(store) if one.round is not None]
    return [(await frozen_of(store, round_id)).acts for round_id in ended]


async def flags_in(store: Store, round_id: int, hotkey: str) -> int:
    return next(miner.flags for miner in (await frozen_of(store, round_id)).miners if miner.hotkey == hotkey)


async def test_a_cleared_flag_is_told_once_by_the_round_whose_input_shows_it_first(store: Store) -> None:
    world = world_of(store)
    hotkey = next(iter(world.signers))
    await play(world)
    await flag(world, hotkey, 0)
    await flag(world, hotkey, 0, SkillType.MCP_SERVER)
    await play(world)
    at = await clear(world, hotkey)
    await play(world)
    await play(world)
    cleared = (ClearedFlag(KIND, "0"), ClearedFlag(SkillType.MCP_SERVER, "0"))
    act = FlagsCleared(hotkey, at, "looked into", tuple(sorted(cleared, key=lambda f: f.skill_type)))
    assert await acts_by_round(store) == [(), (), (act,), ()]
    assert [await flags_in(store, round_id, hotkey) for round_id in range(4)] == [0, 2, 0, 0]


async def test_what_is_cleared_while_a_round_is_open_is_for_the_next_also_across_a_crash(
    store: Store, tmp_path: Path
) -> None:
    world = world_of(store)
    hotkey = next(iter(world.signers))
    await play(world)
    await flag(world, hotkey, 0)
    open_ = await prepared(world)
    await clear(world, hotkey)
    # the process dies here; a new one starts on the same database
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["1"]
    assert await acts_by_round(store) == [(), ()]
    assert open_.frozen == await frozen_of(store, 1)
    async with store.read() as tx:
        assert (await tx.flags.standing(), len((await tx.state.of([hotkey])).miner(hotkey).flags)) == ({}, 1)
    next_ = await prepared(world)  # frozen with the act, and cut off as well
    async with store.read() as tx:
        assert len((await tx.state.of([hotkey])).miner(hotkey).flags) == 1
    assert next(miner.flags for miner in next_.frozen.miners if miner.hotkey == hotkey) == 0
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["2"]
    await play(world)
    assert [len(acts) for acts in await acts_by_round(store)] == [0, 0, 1, 0]
    async with store.read() as tx:
        assert (await tx.state.of([hotkey])).miner(hotkey).flags == ()


async def test_no_input_has_more_acts_than_it_can_hold_and_what_is_not_told_does_not_count_yet(store: Store) -> None:
    world = world_of(store)
    await play(world)
    hotkeys = [f"5{number}".replace("0", "z") for number in range(MAX_ACTS + 2)]
    async with store.begin() as tx:
        for hotkey in hotkeys:
            await tx.connection.execute(text(f"INSERT INTO miners VALUES ('{hotkey}', 1, 2, 3)"))
    for hotkey in hotkeys:
        await flag(world, hotkey, 0)
        await clear(world, hotkey)
    await play(world)
    await play(world)
    assert [len(acts) for acts in await acts_by_round(store)] == [0, MAX_ACTS, 2]
