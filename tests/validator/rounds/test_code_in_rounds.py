"""Code is judged after its round, and the next settled round enters what it is worth, once (SPEC 12)."""

from dataclasses import replace
from pathlib import Path

import pytest
from audit_file import export
from replays import replayed
from state_kit import assert_state_follows, reputations_of, windows_of
from toy_version import TOY, known
from waiting_world import (
    RAG,
    TASK,
    WHOLE,
    checks_of,
    code_world,
    ended,
    entries,
    judge_all,
    until_checks,
    working,
    worth,
)
from world import VALIDATOR, frozen_of, on_virtual_time, one_round, online, prepared

from sssa.log.verify import verify_file
from sssa.protocol.reasons import Reason
from sssa.protocol.workflow_run import CodeReport
from sssa.scoring import Schedule
from validator.miners.scripted import ScriptedReply
from validator.rounds.receipts import close_epoch
from validator.rounds.resume import resume_rounds
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox
from validator.store import Store
from validator.store.errors import MismatchError

HALF = CodeReport(2, 4, 3)


async def all_equal(store: Store, count: int) -> None:
    for round_id in range(count):
        replay = await replayed(store, round_id)
        assert replay.verdict == ("equal" if replay.state == "settled" else "unscored"), replay.difference
    await assert_state_follows(store)


async def test_what_a_round_could_not_judge_waits_and_enters_nothing(store: Store) -> None:
    world = code_world(store)
    outcome = await one_round(world)
    waiting = await checks_of(store)
    assert [(one.task_id, one.hotkey) for one in waiting] == [(m.task_id, m.hotkey) for m in outcome.members]
    assert {(one.state, one.attempts, one.report, one.score, one.entered_in) for one in waiting} == {
        ("pending", 0, None, None, None)
    }
    assert await entries(store, 0) == []
    await one_round(world)
    assert (await frozen_of(store, 1)).filled == ()
    async with store.read() as tx:
        assert not await reputations_of(tx)
    await all_equal(store, 2)


async def test_code_that_is_none_is_worth_nothing_at_once(store: Store) -> None:
    world = code_world(store, code=" \n")
    outcome = await one_round(world)
    assert {member.reason for member in outcome.members} == {Reason.ACCEPTED}
    assert await checks_of(store) == ()


@pytest.mark.parametrize("scoring", ["1.0.0"])
async def test_the_next_round_enters_what_the_code_is_worth_once(store: Store, tmp_path: Path, scoring: str) -> None:
    world = code_world(store, scoring)
    await one_round(world)
    best = (await checks_of(store))[0].hotkey
    ended = await judge_all(world, lambda hotkey: WHOLE if hotkey == best else HALF)
    expected = [
        (one.hotkey, one.task_id, await worth(store, one, WHOLE if one.hotkey == best else HALF)) for one in ended
    ]
    assert len({value for _, _, value in expected}) == 2
    await one_round(world)
    assert [(one.hotkey, one.task_id, one.score) for one in (await frozen_of(store, 1)).filled] == expected
    assert await entries(store, 1) == expected
    assert await entries(store, 0) == []
    assert {one.entered_in for one in await checks_of(store, 0)} == {1}
    async with store.read() as tx:
        windows = await windows_of(tx)
        assert not await reputations_of(tx)
    assert {(hotkey, of["workflow"][0]) for hotkey, of in windows.items()} == {(h, v) for h, _, v in expected}
    await one_round(world)
    assert (await frozen_of(store, 2)).filled == ()
    assert await entries(store, 2) == []
    await all_equal(store, 3)
    assert await close_epoch(store, VALIDATOR, world.clock)
    found = verify_file(await export(store, tmp_path / "log.jsonl"))
    assert (found.rounds, found.filled, found.filled_before) == ({"settled": 3}, len(ended), 0)


async def test_an_answer_is_scored_by_its_own_rounds_version(store: Store) -> None:
    """The toy's gate is lower: half of the tests open it, in 1.0.0 they do not."""
    with known(TOY):
        world = code_world(store, TOY.name)
        await one_round(world)
        world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({"1.0.0": 0}))
        async with working(world, ScriptedCodeSandbox(lambda _: ScriptedCheck(HALF), world.clock)):
            await until_checks(world, ended)
        await one_round(world)
        filled = (await frozen_of(store, 1)).filled
        await all_equal(store, 2)
    assert {one.score > 0.65 for one in filled} == {True}
    async with working(world, ScriptedCodeSandbox(lambda _: ScriptedCheck(HALF), world.clock)):
        await until_checks(world, ended, 1)
    await one_round(world)
    assert {one.score > 0.65 for one in (await frozen_of(store, 2)).filled} == {False}


async def test_late_entries_stand_before_the_rounds_own(store: Store) -> None:
    world = code_world(store, goals=(TASK, RAG))
    await one_round(world)
    ended = await judge_all(world)
    await one_round(world)
    async with store.read() as tx:
        tasks = [await tx.tasks.of_round(round_id) for round_id in range(2)]
        windows = await windows_of(tx)
        added = [await tx.windows.of_round(round_id) for round_id in range(2)]
        mine = (await tx.windows.newest(ended[0].hotkey, 10, 1))["workflow"]
        as_it_was = (await tx.windows.newest(ended[0].hotkey, 10, 0)).get("workflow", [])
        later = (await tx.windows.added_after(ended[0].hotkey, 0))["workflow"]
    (code,) = {one.task_id for one in ended}
    rag = [
        next(task.task_id for task in of_round if task.task_id in {e.task_id for e in entered} - {code})
        for of_round, entered in zip(tasks, added, strict=True)
    ]
    assert [one.task_id for one in mine] == [rag[0], code, rag[1]]
    assert ([one.task_id for one in as_it_was], later) == ([rag[0]], 2)
    assert [one.task_id for one in added[1]] == [code] * 3 + [rag[1]] * 3
    assert {len(of["workflow"]) for of in windows.values()} == {3}
    await all_equal(store, 2)


async def test_a_void_round_enters_nothing_and_the_next_one_does(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    ended = await judge_all(world)
    planner, world.planner = world.planner, lambda _s, _d: ScriptedReply(connects=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(world.service), "_reachable", offline)
        end = await on_virtual_time(world, world.service.one_round())
    assert (end.outcome, end.reason) == (None, Reason.VOID_OFFLINE)
    assert [one.check_id for one in (await frozen_of(store, 1)).filled] == [one.work_id for one in ended]
    assert await entries(store, 1) == []
    world.planner = planner
    await one_round(world)
    assert len(await entries(store, 2)) == len(ended)
    assert {one.entered_in for one in await checks_of(store)} == {2}
    await all_equal(store, 3)


async def offline(_service: object) -> bool:
    return False


async def test_a_crash_before_the_results_are_entered_enters_them_once(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    ended = await judge_all(world)
    lost = await prepared(world)  # the validator dies here
    assert lost.frozen.filled
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    assert await entries(store, 1) == []
    await one_round(world)
    assert [hotkey for hotkey, _, _ in await entries(store, 2)] == [one.hotkey for one in ended]
    await all_equal(store, 3)


async def test_a_resumed_round_leaves_the_same_to_be_judged(store: Store) -> None:
    world = code_world(store)
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    assert len(await checks_of(store)) == 3
    await all_equal(store, 1)


async def test_a_round_takes_in_so_many_and_the_next_one_the_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("validator.rounds.prepare.MAX_FILLED", 2)
    world = code_world(store)
    await one_round(world)
    ended = [one.work_id for one in await judge_all(world)]
    await one_round(world)
    await one_round(world)
    taken = [[one.check_id for one in (await frozen_of(store, number)).filled] for number in (1, 2)]
    assert taken == [ended[:2], ended[2:]]
    await all_equal(store, 3)


async def test_no_result_is_entered_by_two_rounds(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    await judge_all(world)
    await one_round(world)
    filled = (await frozen_of(store, 1)).filled
    with pytest.raises(MismatchError, match=filled[0].check_id):
        async with store.begin() as tx:
            await tx.code_checks.enter(2, filled)
