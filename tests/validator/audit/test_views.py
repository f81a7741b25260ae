"""The views on both databases, for what the command line's example store does not hold."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from builders import V1, make_sssa, make_task
from group_rounds import settled, signed, signer
from msgspec import to_builtins
from msgspec.structs import replace
from state_kit import plant_flag
from task_builders import make_truth
from world import World, on_virtual_time

from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.reasons import Reason
from sssa.protocol.round import FlagRaised
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from validator.audit.documents import round_document
from validator.audit.views import (
    MAX_FLAG_ID,
    FaultShare,
    fault_list,
    flag_details,
    latest_weights,
    miner_list,
    round_list,
)
from validator.rounds.prepare import Prepared
from validator.store import Store
from validator.store.repositories.weight_submissions import PlannedWeights

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


async def test_answers_that_enter_nothing_say_why(store: Store) -> None:
    world = World(store, miners=2)
    await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        view = await round_document(tx, 0)
        miners = await miner_list(tx, NOW)
    assert view is not None
    for task in view.tasks:
        assert (task.mode, task.auditors) == ("quality_only", ())
        for dispatch in task.dispatches:
            assert (dispatch.state, dispatch.reason) == ("answered", Reason.VOID_NO_VERDICT)
            assert (dispatch.quality, dispatch.consensus, dispatch.emission) == (None,) * 3
    assert {miner.score for miner in miners} == {0.0}


async def test_who_was_asked_of_faultless_bundles_alone_is_listed_with_no_fault() -> None:
    known = replace(make_truth(), findings=())
    task = make_task(SkillType.DECLARATIVE, truth=known, provenance="curated")
    example = settled(task, {"P1": signed(task, "P1", to_builtins(make_sssa(task).analysis))})

    async def given(answer: Any) -> Any:
        return answer

    tx: Any = SimpleNamespace(
        rounds=SimpleNamespace(
            listing=lambda _: given([SimpleNamespace(round_id=5, state="settled")]),
            get=lambda _: given(SimpleNamespace(input=example.frozen)),
        ),
        submissions=SimpleNamespace(results=lambda *_: given(example.results)),
    )
    (miner,) = (await fault_list(tx, 1)).miners
    assert (miner.hotkey, miner.answers, miner.total) == (signer("P1").hotkey, 1, FaultShare(0, 0))


async def test_a_skipped_round_has_nothing_but_its_reason(store: Store) -> None:
    async with store.begin() as tx:
        await tx.rounds.skip(0, epoch=1, block=2, block_hash="ab", reason=Reason.SKIPPED_NO_TASKS, at=NOW)
    async with store.read() as tx:
        view = await round_document(tx, 0)
    assert view is not None
    assert (view.round.state, view.meaning) == ("skipped", Reason.SKIPPED_NO_TASKS.meaning)
    assert (view.tasks, view.flags, view.reputation) == ((), (), ())


async def test_a_void_round_shows_its_dispatches_without_scores(store: Store) -> None:
    world = World(store)
    snapshot = await world.chain.snapshot()
    await on_virtual_time(world, world.service.directory.refresh(snapshot))
    prepared = await world.preparer.prepare(snapshot)
    assert isinstance(prepared, Prepared)
    async with store.begin() as tx:
        await tx.rounds.settle(0, "void", Reason.VOID_OFFLINE, None, NOW)
    async with store.read() as tx:
        view = await round_document(tx, 0)
    assert view is not None
    assert {(one.state, one.reason, one.emission) for task in view.tasks for one in task.dispatches} == {
        ("void", Reason.VOID_OFFLINE, None)
    }
    assert {one.uid for task in view.tasks for one in task.dispatches} == set(range(1, 7))


async def test_numbers_that_no_column_holds_are_of_nothing(store: Store) -> None:
    async with store.read() as tx:
        for number in (-1, 0, MAX_ROUND_ID, MAX_ROUND_ID + 1, 10**40):
            assert await round_document(tx, number) is None
            assert await round_list(tx, 5, number) == ()
        for text in ("0", "-1", "²", str(MAX_FLAG_ID), str(MAX_FLAG_ID + 1), str(10**40), ""):
            assert await flag_details(tx, text) == ()


async def test_three_flags_eject_and_who_left_is_not_registered(store: Store) -> None:
    world = World(store)
    await on_virtual_time(world, world.service.one_round())
    first, second = list(world.signers)[:2]
    async with store.begin() as tx:
        for kind in ASSESSED_TYPES[: V1.rules.groups.ejecting_flags]:
            await plant_flag(tx, FlagRaised(first, kind, 0.95, 0.1, 0.25, 0.75, 5), 0, NOW)
        await tx.weights.prepare(7, 0, 1, PlannedWeights({second: 0.15}, {second: 1.0, first: 1.0}, 0.85, {}), NOW)
    world.subnet.deregister(second)
    await world.clock.advance(2.0)
    snapshot = await world.chain.snapshot()
    async with store.begin() as tx:
        await tx.miners.seen(snapshot)
    async with store.read() as tx:
        miners = {miner.hotkey: miner for miner in await miner_list(tx, NOW)}
        weights = await latest_weights(tx, 0)
        none = await latest_weights(tx, 1)
    assert (miners[first].flags, miners[first].ejected, miners[first].registered) == (
        V1.rules.groups.ejecting_flags,
        True,
        True,
    )
    assert (miners[second].ejected, miners[second].registered) == (False, False)
    assert weights is not None
    assert [(line.hotkey, line.uid is None, line.weight) for line in weights.miners] == [
        (second, True, 0.15),
        (first, False, 0.0),
    ]
    assert none is None
