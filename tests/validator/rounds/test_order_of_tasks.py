"""Whole rounds take their tasks in the order of D-29, and remember it (SPEC 16)."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from builders import V1
from task_builders import numbered, serving, write_task
from workflow_builders import make_workflow
from world import VALIDATOR, World, prepared

from sssa.protocol.draws import task_draw
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessmentTask
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.workflow_task import task_sha256
from sssa.scoring import Rules
from sssa.sources import SeededRandom, SystemClock
from taskmaker.canary import Canaries
from taskmaker.task_server import task_server
from validator.kinds.assessment.supply import Bundles
from validator.kinds.services import PackedTask
from validator.rounds.prepare import EpochOrder, Prepared, Preparer
from validator.rounds.settle import void_round
from validator.store import Store, open_store
from validator.store.errors import MismatchError
from validator.tasks.directory import DirectorySource
from validator.tasks.goals import MemoryGoals
from validator.tasks.http import HttpSource
from validator.tasks.source import MemorySource, Order

DECLARATIVE, WORKFLOW = SkillType.DECLARATIVE, SkillType.WORKFLOW
TASKS = [numbered(number) for number in range(7)]
HASHES = [task.task.bundle_sha256 for task in TASKS]
GOALS = [make_workflow(goal=f"Goal {number}.") for number in range(5)]


async def next_sources(world: World, skill_type: SkillType = DECLARATIVE) -> list[str]:
    """Freeze the next round; it need not be dispatched."""
    return sources(await prepared(world), skill_type)


def sources(round_: Prepared, skill_type: SkillType = DECLARATIVE) -> list[str]:
    return [task.source_sha256 for task in round_.frozen.tasks if task.skill_type == skill_type]


async def given(store: Store, *hashes: str) -> dict[str, int]:
    async with store.read() as tx:
        return await tx.given_tasks.counts(DECLARATIVE, hashes)


async def test_every_task_and_goal_is_given_before_any_is_given_again(store: Store) -> None:
    world = World(store, source=MemorySource(TASKS), goals=MemoryGoals(GOALS))
    bundles: list[str] = []
    goals: list[str] = []
    for _ in range(11):
        round_ = await prepared(world)
        bundles += sources(round_)
        goals += sources(round_, WORKFLOW)
    for start in range(0, len(bundles) - 6, 7):
        assert sorted(bundles[start : start + 7]) == sorted(HASHES)
    for start in range(0, len(goals) - 4, 5):
        assert sorted(goals[start : start + 5]) == sorted(map(task_sha256, GOALS))


async def test_ties_are_drawn_from_the_salt_of_the_rounds_epoch(store: Store) -> None:
    world = World(store, source=MemorySource(TASKS))
    round_ = await prepared(world)
    epoch = round_.frozen.snapshot.epoch
    async with store.read() as tx:
        salt = await tx.salts.current(epoch)
    assert salt is not None
    assert salt.commitment == round_.frozen.salt_commitment
    assert sources(round_) == sorted(HASHES, key=lambda sha256: task_draw(salt.salt, epoch, sha256))[:2]


async def test_a_restart_goes_on_in_the_same_order(store_url: str, other_sqlite_url: str) -> None:
    async with open_store(other_sqlite_url, writer=True) as store:
        world = World(store, source=MemorySource(TASKS), tempo=1_000)
        whole = [await next_sources(world) for _ in range(6)]
    pieces = []
    for number in range(6):
        async with open_store(store_url, writer=True) as store:
            world = World(store, source=MemorySource(TASKS), tempo=1_000)
            if number:  # a choice that came to nothing: what was not frozen was not given
                await world.preparer.supplies[0].fill(*await filling(world))
            pieces.append(await next_sources(world))
    assert pieces == whole


async def filling(world: World) -> tuple[Rules, str, Order, bytes]:
    epoch = (await world.chain.snapshot()).epoch
    async with world.store.read() as tx:
        salt = await tx.salts.current(epoch)
    assert salt is not None
    return V1.rules, "99", EpochOrder(world.store, epoch, salt.salt), salt.salt


async def test_validators_with_different_salts_ask_in_different_orders(store: Store, other_sqlite_url: str) -> None:
    async with open_store(other_sqlite_url, writer=True) as second:
        worlds = [World(each, source=MemorySource(TASKS)) for each in (store, second)]
        worlds[1].preparer = replace(worlds[1].preparer, random=SeededRandom("another"))
        orders = [[sha256 for _ in range(3) for sha256 in await next_sources(world)] for world in worlds]
    assert orders[0] != orders[1]


async def test_a_task_dropped_into_a_folder_is_next_and_then_waits_like_the_others(
    store: Store, tmp_path: Path
) -> None:
    for number, task in enumerate(TASKS[:6]):
        write_task(tmp_path / f"t{number}", task)
    world = World(store, source=DirectorySource(tmp_path))
    for _ in range(9):  # three times round
        await next_sources(world)
    write_task(tmp_path / "a", TASKS[6])
    rounds = [await next_sources(world) for _ in range(8)]
    assert rounds[0][0] == HASHES[6]
    flat = [sha256 for sources in rounds for sha256 in sources]
    assert 3 <= flat.count(HASHES[6]) <= 4  # once at once, then with the others twice, and a draw decides on the 16th
    assert all(2 <= flat.count(sha256) <= 3 for sha256 in HASHES[:6])


async def test_a_servers_tasks_go_round_as_well(store: Store, tmp_path: Path) -> None:
    for number, task in enumerate(TASKS):
        write_task(tmp_path / f"t{number}", task)
    server, validator = Signer.from_uri("//Server"), Signer.from_uri("//Alice")
    app = task_server(DirectorySource(tmp_path), server, SystemClock(), frozenset({validator.hotkey}))
    async with serving(app) as base:
        source = HttpSource(base, server.hotkey, validator, SystemClock())
        try:
            world = World(store, source=source)
            given = [sha256 for _ in range(7) for sha256 in await next_sources(world)]
        finally:
            await source.close()
    for start in range(0, 14, 7):
        assert sorted(given[start : start + 7]) == sorted(HASHES)


async def test_a_void_round_has_given_its_tasks(store: Store) -> None:
    world = World(store, source=MemorySource(TASKS))
    round_ = await prepared(world)
    await void_round(store, world.clock, world.preparer.signer, round_.frozen, round_.plan, Reason.VOID_OFFLINE)
    assert await given(store, *HASHES) == dict.fromkeys(sources(round_), 1)
    assert not set(await next_sources(world)) & set(sources(round_))


@dataclass(frozen=True)
class Broken:
    """Gives tasks with bundles that the store refuses: the freezing fails after the tasks were counted."""

    inner: Bundles

    async def fill(self, rules: Rules, round_id: str, order: Order, salt: bytes) -> list[PackedTask]:
        return [task._replace(bundle=b"other") for task in await self.inner.fill(rules, round_id, order, salt)]


async def test_what_could_not_be_frozen_was_not_given(store: Store) -> None:
    world = World(store, source=MemorySource(TASKS))
    inner = world.preparer.supplies[0]
    assert isinstance(inner, Bundles)
    broken: Preparer = replace(world.preparer, supplies=(Broken(inner),))
    with pytest.raises(MismatchError):
        await broken.prepare(await world.chain.snapshot())
    assert await given(store, *HASHES) == {}
    assert len(await next_sources(world)) == 2


async def test_canaries_made_for_a_round_are_not_counted(store: Store) -> None:
    world = World(store)
    random = SeededRandom("canaries")
    supply = Bundles(MemorySource(TASKS), Canaries(random).make, random)
    world.preparer = replace(world.preparer, supplies=(supply,))
    tasks = [task for task in (await prepared(world)).frozen.tasks if isinstance(task, AssessmentTask)]
    curated = [task.source_sha256 for task in tasks if task.provenance != "canary"]
    assert len(tasks) == len(curated) + 2
    sources = [task.source_sha256 for task in tasks]
    async with store.read() as tx:
        counted = [await tx.given_tasks.counts(kind, sources) for kind in ASSESSED_TYPES]
    assert [one for one in counted if one] == [dict.fromkeys(curated, 1)]


async def test_the_salt_is_not_shown(store: Store) -> None:
    assert "secret" not in repr(EpochOrder(store, 7, b"secret"))


async def test_what_is_retired_is_not_given_again_and_told_when_no_round_has_it(store: Store) -> None:
    world = World(store, source=MemorySource(TASKS), goals=MemoryGoals(GOALS))
    first = await prepared(world)
    asked = {*sources(first), *sources(first, WORKFLOW)}
    everything = {*HASHES, *map(task_sha256, GOALS)}
    async with store.begin() as tx:
        await tx.retired.add(everything - asked, world.clock.now())
    await void_round(store, world.clock, VALIDATOR, first.frozen, first.plan, Reason.VOID_OFFLINE)
    second = await prepared(world)
    assert {*sources(second), *sources(second, WORKFLOW)} == asked  # the others are due, and retired
    async with store.begin() as tx:
        await tx.retired.add(asked, world.clock.now())
        assert await tx.retired.of_round(0) == set()  # the same tasks are open
    await void_round(store, world.clock, VALIDATOR, second.frozen, second.plan, Reason.VOID_OFFLINE)
    async with store.read() as tx:
        assert await tx.retired.of_round(0) == {task.task_id for task in first.frozen.tasks}
