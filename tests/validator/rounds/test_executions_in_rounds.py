"""Settling queues executions; the next settled round counts all results of a task, once (SPEC 15, 16, D-30)."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit_file import export
from replays import faults_after, replayed
from sqlalchemy import update
from state_kit import assert_state_follows, reputations_of
from waiting_world import LIAR, PYTHON, end_all, executions_of, give_up_all, inventing, ran, world_of
from world import VALIDATOR, Script, World, frozen_of, garbage, on_virtual_time, one_round, online, prepared

from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch
from sssa.protocol.draws import draw
from sssa.protocol.execution import RunReport
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.strict_json import decode_plain
from sssa.protocol.waiting_work import Executed
from validator.miners.scripted import ScriptedReply
from validator.rounds.receipts import close_epoch
from validator.rounds.resume import resume_rounds
from validator.store import Store, Transaction
from validator.store.tables import waiting_work
from validator.store.vector_inputs import basis_now


async def all_equal(store: Store, rounds: int) -> None:
    for round_id in range(rounds):
        replay = await replayed(store, round_id)
        assert replay.verdict == ("equal" if replay.state == "settled" else "unscored"), replay.difference
    await assert_state_follows(store)


async def test_runtime_tasks_with_a_valid_primary_wait_in_the_order_of_the_draws(store: Store) -> None:
    world = world_of(store, lambda s, d: garbage(s, d) if s.hotkey == LIAR.hotkey else ran(s, d))
    await one_round(world)
    frozen, waiting = await frozen_of(store, 0), await executions_of(store)
    assert [one.state for one in waiting] == ["pending"] * 2
    assert [one.task_id for one in waiting] == [task.task_id for task in frozen.tasks]
    assert all(len(one.hotkeys) == 2 and LIAR.hotkey not in one.hotkeys for one in waiting)
    smallest = {
        one.queued.place: min(
            draw(bytes.fromhex(frozen.seed), "rerun", "0", one.task_id, hotkey) for hotkey in one.hotkeys
        )
        for one in waiting
    }
    assert smallest[0] < smallest[1]
    async with store.begin() as tx:
        taken = [await tx.executions.take(world.clock.now()) for _ in range(3)]
    assert [one.queued.place if one else None for one in taken] == [0, 1, None]
    await all_equal(store, 1)


@pytest.mark.parametrize("executes", [True, False])
async def test_a_task_without_valid_primaries_or_an_engine_waits_for_nothing(store: Store, executes: bool) -> None:
    world = world_of(store, garbage if executes else inventing, executes=executes)
    await one_round(world)
    assert await executions_of(store) == ()
    assert (await frozen_of(store, 0)).executes is executes
    await all_equal(store, 1)


async def test_a_caught_miner_loses_its_entry_and_its_reputation_once(store: Store, tmp_path: Path) -> None:
    world = world_of(store)
    outcome = await one_round(world)
    assert await end_all(world, LIAR.hotkey) == 2
    async with store.read() as tx:
        results, before = await tx.executions.results(), await reputations_of(tx)
        reports = await tx.executions.reports(results)
    assert len(results) == 6
    later = await one_round(world)
    assert (await frozen_of(store, 1)).executions == results
    async with store.read() as tx:
        head = await tx.records.head(1)
    assert head is not None
    assert head.reports == reports
    assert [len(json.loads(one)["results"]) for one in reports] == [3, 3]
    events = [(one.hotkey, one.kind, one.cause) for one in later.reputation[:6]]
    assert events == [(one.hotkey, one.event, one.task_id) for one in results]
    first = next(one for one in later.reputation if one.kind == "rerun_fail")
    assert (first.before, first.after) == (before[LIAR.hotkey, PYTHON], before[LIAR.hotkey, PYTHON] * 0.7)
    async with store.read() as tx:
        entries, counted = await tx.windows.of_round(0), (await tx.executions.about(1))[1]
    worth = {(member.task_id, member.hotkey): member.window_entry for member in outcome.members}
    assert len(entries) == 6
    for entry in entries:
        assert entry.value == (0.0 if entry.hotkey == LIAR.hotkey else worth[entry.task_id, entry.hotkey])
    struck = {(one.task_id, result.hotkey): result.struck for one in counted for result in one.results}
    assert {key: value for key, value in struck.items() if value is not None} == {
        key: value for key, value in worth.items() if key[1] == LIAR.hotkey
    }
    await give_up_all(world)
    assert "rerun_fail" not in {one.kind for one in (await one_round(world)).reputation}
    third = await frozen_of(store, 2)
    assert third.executions == ()
    history = next(miner for miner in third.miners if miner.hotkey == LIAR.hotkey).history[PYTHON]
    assert history.failures == 2
    await all_equal(store, 3)
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 3}


async def test_a_result_without_an_event_is_counted_and_costs_nothing(store: Store, tmp_path: Path) -> None:
    world = world_of(store)
    outcome = await one_round(world)
    await end_all(world, unclear=LIAR.hotkey)
    later = await one_round(world)
    events = Counter((one.hotkey == LIAR.hotkey, one.event) for one in (await frozen_of(store, 1)).executions)
    assert events == {(True, None): 2, (False, "rerun_pass"): 4}
    assert [one.kind for one in later.reputation[:5]].count("rerun_pass") == 4
    assert not any(one.hotkey == LIAR.hotkey and one.kind.startswith("rerun") for one in later.reputation)
    async with store.read() as tx:
        assert [entry.value for entry in await tx.windows.of_round(0)] == [m.window_entry for m in outcome.members]
        liar = (await tx.state.whole()).miners[LIAR.hotkey]
        assert liar.pairs[PYTHON].results == ()
    await give_up_all(world)
    assert (await one_round(world)).reputation
    await all_equal(store, 3)
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).executions == 6


async def test_what_has_not_begun_when_the_next_round_settles_is_inconclusive(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    async with store.begin() as tx:
        running = await tx.executions.take(world.clock.now())
    assert running is not None
    await one_round(world)
    states = {one.work_id: (one.state, one.reason) for one in await executions_of(store)}
    assert states.pop(running.work_id) == ("running", None)  # it had begun, and may end
    assert list(states.values()) == [("inconclusive", Reason.EXECUTION_LATE)]
    assert {one.state for one in await executions_of(store, 1)} == {"pending"}


async def test_a_void_round_counts_no_result_ends_nothing_that_waits_and_the_next_one_counts(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    async with store.begin() as tx:
        taken = await tx.executions.take(world.clock.now())
        assert taken is not None
        assert await tx.executions.hand_back(taken, world.clock.now())
    await end_all(world, LIAR.hotkey)
    script, world.script = world.script, lambda _s, _d: ScriptedReply(connects=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(world.service), "_reachable", offline)
        end = await on_virtual_time(world, world.service.one_round())
    assert (end.outcome, end.reason) == (None, Reason.VOID_OFFLINE)
    frozen = (await frozen_of(store, 1)).executions
    assert len(frozen) == 6
    world.script = script
    await one_round(world)
    assert (await frozen_of(store, 2)).executions == frozen
    assert {one.entered_in for one in await executions_of(store)} == {2}
    await all_equal(store, 3)


async def offline(_service: object) -> bool:
    return False


async def test_a_crash_before_the_results_are_counted_counts_them_once(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await end_all(world, LIAR.hotkey)
    lost = await prepared(world)  # the validator dies here
    assert len(lost.frozen.executions) == 6
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online)
    outcome = await one_round(world)
    assert [one.cause for one in outcome.reputation if one.kind == "rerun_fail"] == [
        one.task_id for one in lost.frozen.executions if one.event == "rerun_fail"
    ]
    await all_equal(store, 3)


async def test_three_fails_of_the_last_ten_results_leave_the_window_unpaid(store: Store, tmp_path: Path) -> None:
    world = world_of(store)
    for round_id in range(3):
        await one_round(world)
        await end_all(world, LIAR.hotkey)
        async with store.read() as tx:
            basis = await basis_now(tx, 0)
        assert basis.standing[LIAR.hotkey].types[PYTHON].execution_fails == 2 * round_id
    plan = basis.version.mechanism_weights(basis.windows, standing=basis.standing)
    assert LIAR.hotkey in plan.unpaid
    assert {one.reason for one in basis.unpaid(plan) if one.hotkey == LIAR.hotkey} <= {
        Reason.EXECUTION,
        Reason.LOW_REPUTATION,
        Reason.FAILURE_RATE,
    }
    honest = next(hotkey for hotkey in basis.standing if hotkey != LIAR.hotkey)
    assert basis.standing[honest].types[PYTHON].execution_fails == 0
    async with store.read() as tx:
        pair = (await tx.state.whole()).pair(LIAR.hotkey, PYTHON)
    assert pair.executed(3, 10) == ()  # rounds long ago do not count
    assert pair.executed(0, 1) == (True,)


async def resolutions(world: World) -> set[str]:
    """Return the suggestions to dissenters in the proofs of round 0."""
    async with world.store.read() as tx:
        proofs = [await tx.proofs.of_task(task.task_id) for task in await tx.tasks.of_round(0)]
    documents = [decode_plain(proof.document, limit=len(proof.document)) for proof in proofs if proof is not None]
    return {dissent["suggested_resolution"] for document in documents for dissent in document["dissents"]}


def dissenting(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """One miner says BLOCK where all others say ALLOW."""
    return ran(signer, dispatch, verdict="BLOCK" if signer.hotkey == LIAR.hotkey else "ALLOW")


def broken(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    return garbage(signer, dispatch) if signer.hotkey == LIAR.hotkey else ran(signer, dispatch)


@pytest.mark.parametrize(
    ("script", "executes", "resolution"),
    [(dissenting, True, "sandbox rerun"), (dissenting, False, "operator review"), (broken, True, "operator review")],
)
async def test_execution_settles_what_a_valid_primary_dissents_from(
    store: Store,
    script: Script,
    executes: bool,
    resolution: str,
) -> None:
    world = world_of(store, script, miners=3 if script is dissenting else 5, executes=executes)
    await one_round(world)
    assert await resolutions(world) == {resolution}
    await all_equal(store, 1)


def changed(**fields: Any) -> Callable[[Executed], Executed]:
    """Return a function that replaces fields in every result of an execution."""
    return lambda result: Executed(result.report, tuple(one._replace(**fields) for one in result.results))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (changed(hotkey="x"), "input.executions"),
        (changed(event="rerun_pass"), "input.executions"),
        (changed(struck=None), "input.executions"),
        (lambda result: Executed(RunReport({}, "/tmp/other"), result.results), "executions.reports"),
        (None, "executions"),
    ],
)
async def test_what_was_altered_is_found_by_replay(
    store: Store, change: Callable[[Executed], Executed] | None, path: str
) -> None:
    world = world_of(store)
    await one_round(world)
    await end_all(world, LIAR.hotkey)
    await one_round(world)

    async def tamper(tx: Transaction) -> None:
        for one in await tx.executions.of_round(0):
            assert isinstance(one.result, Executed)
            values = {"hotkeys": ("x",)} if change is None else {"result": change(one.result)}
            mine = waiting_work.c.work_id == one.work_id
            await tx.connection.execute(update(waiting_work).where(mine).values(values))

    _, found = await faults_after(store, tamper)
    assert f": {path}" in found, found
