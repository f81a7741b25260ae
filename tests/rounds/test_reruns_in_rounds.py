"""Settling queues reruns, and the next settled round counts their results, once (SPEC 15, 16, D-30)."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from audit_file import export
from builders import finding
from replays import executed, replayed, replayed_after
from sqlalchemy import update
from world import VALIDATOR, WINDOWS, World, answer_to, frozen_of, honest, on_virtual_time, one_round, online, prepared

from validator.audit.log import verify_file
from validator.miners.scripted import ScriptedReply
from validator.protocol.answer import Dispatch
from validator.protocol.archives import pack
from validator.protocol.canonical import sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import decode_plain
from validator.protocol.task import Task
from validator.rounds.receipts import close_epoch
from validator.rounds.resume import resume_rounds
from validator.scoring import Schedule, version
from validator.store import Store
from validator.store.rerun import Rerun
from validator.store.tables import reruns, window_entries
from validator.tasks.memory import MemorySource
from validator.tasks.source import SourcedTask

PYTHON = SkillType.EXECUTABLE_PYTHON


def python_tasks() -> list[SourcedTask]:
    found = []
    for slot in range(2):
        bundle = pack({"a.py": b"print(1)\n", "which.txt": str(slot).encode()})
        found.append(SourcedTask(Task("1.0", PYTHON, WINDOWS, sha256_hex(bundle), "none", None, None), bundle))
    return found


def off_the_group(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """One miner says BLOCK where all others say ALLOW."""
    answer = answer_to(signer, dispatch)
    if signer.hotkey != Signer.from_uri("//Miner//1").hotkey:
        return honest(signer, dispatch)
    analysis = msgspec.structs.replace(answer.sssa.analysis, verdict="BLOCK", findings=(finding(),))
    sssa = signer.sign_document(msgspec.structs.replace(answer.sssa, analysis=analysis))
    return ScriptedReply(msgspec.json.encode(msgspec.structs.replace(answer, sssa=sssa)), seconds=1.0)


def world_of(store: Store, most: int = 100, scoring: str = "1.1.0") -> World:
    """Three miners, all of them primaries of both tasks."""
    world = World(store, miners=3, source=MemorySource(python_tasks()), script=off_the_group)
    world.preparer = world.service.preparer = replace(world.preparer, schedule=Schedule({scoring: 0}))
    world.service.most_reruns = most
    return world


async def reruns_of(store: Store, round_id: int = 0) -> tuple[Rerun, ...]:
    async with store.read() as tx:
        return await tx.reruns.of_round(round_id)


async def end_all(world: World, event: str, hotkey: str | None = None) -> int:
    """End every rerun that waits: those of `hotkey` by `event`, the others pass."""
    ended = 0
    async with world.store.begin() as tx:
        while (taken := await tx.reruns.take(world.clock.now())) is not None:
            mine = hotkey is None or taken.key.hotkey == hotkey
            what = (event, Reason.RERUN_FS) if mine else ("rerun_pass", Reason.RERUN_SAME)
            assert await tx.reruns.done(taken, what[0], what[1], None, world.clock.now())  # type: ignore[arg-type]
            ended += mine
    return ended


async def all_equal(store: Store, rounds: int) -> None:
    for round_id in range(rounds):
        replay = await replayed(store, round_id)
        assert replay.verdict == ("equal" if replay.state == "settled" else "unscored"), replay.differences


async def test_a_settled_round_has_what_section_15_chooses_run_again(store: Store) -> None:
    world = world_of(store)
    outcome = await one_round(world)
    frozen = await frozen_of(store, 0)
    plan = version("1.1.0").plan(frozen)
    chosen = version("1.1.0").chosen_reruns(frozen, plan, outcome)
    waiting = await reruns_of(store)
    assert [(one.rerun_id, one.key.task_id, one.key.hotkey, one.why) for one in waiting] == [
        (one.rerun_id, one.task_id, one.hotkey, one.reason) for one in chosen
    ]
    assert len(waiting) >= 2
    assert all((one.state, one.image) == ("pending", frozen.runtime_image) for one in waiting)
    await all_equal(store, 1)


@pytest.mark.parametrize("most", [0, 1])
async def test_where_there_is_no_room_none_of_a_round_is_queued(store: Store, most: int) -> None:
    world = world_of(store, most)
    await one_round(world)
    assert await reruns_of(store) == ()
    await all_equal(store, 1)


async def resolutions(store: Store, round_id: int) -> set[str]:
    """What the proofs of a round suggest to those who dissent."""
    async with store.read() as tx:
        proofs = [await tx.proofs.of_task(task.task_id) for task in await tx.tasks.of_round(round_id)]
    documents = [decode_plain(proof.document, limit=len(proof.document)) for proof in proofs if proof is not None]
    return {dissent["suggested_resolution"] for document in documents for dissent in document["dissents"]}


async def test_proofs_name_the_rerun_where_one_is_queued(store: Store, tmp_path: Path) -> None:
    world = world_of(store)
    await one_round(world)
    assert any(one.why == Reason.RERUN_DIVERGES for one in await reruns_of(store))
    assert "sandbox rerun" in await resolutions(store, 0)
    await end_all(world, "rerun_pass")
    world.service.most_reruns = 0
    await one_round(world)
    assert await resolutions(store, 1) == {"operator review"}
    await all_equal(store, 2)
    assert verify_file(await export(store, tmp_path / "draws-pending.jsonl")).rounds == {"settled": 2}
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 2}


async def test_a_caught_miner_loses_its_entry_and_its_reputation_once(store: Store, tmp_path: Path) -> None:
    world = world_of(store)
    outcome = await one_round(world)
    liar = (await reruns_of(store))[0].key.hotkey
    caught = await end_all(world, "rerun_fail", liar)
    async with store.read() as tx:
        results = await tx.reruns.results()
        before = await tx.reputations.all()
    later = await one_round(world)
    assert (await frozen_of(store, 1)).reruns == results
    events = [(one.hotkey, one.kind, one.cause) for one in later.reputation[: len(results)]]
    assert events == [(one.hotkey, one.event, one.rerun_id) for one in results]
    first = next(one for one in later.reputation if one.kind == "rerun_fail")
    assert (first.before, first.after) == (before[liar, PYTHON], before[liar, PYTHON] * 0.7)
    async with store.read() as tx:
        entries = await tx.windows.of_round(0)
        counted = await tx.reruns.entered_in(1)
    struck = {one.key.task_id for one in counted if one.event == "rerun_fail"}
    worth = {(member.task_id, member.hotkey): member.window_entry for member in outcome.members}
    assert caught == len(struck) > 0
    for entry in entries:
        taken = entry.hotkey == liar and entry.task_id in struck
        assert entry.value == (0.0 if taken else worth[entry.task_id, entry.hotkey])
    assert any(worth[task_id, liar] for task_id in struck)
    assert (await one_round(world)).reputation[0].kind != "rerun_fail"
    assert (await frozen_of(store, 2)).reruns == ()
    history = next(miner for miner in (await frozen_of(store, 2)).miners if miner.hotkey == liar).history[PYTHON]
    assert history.failures == caught
    await all_equal(store, 3)
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 3}


async def test_under_1_0_0_a_result_costs_reputation_alone(store: Store) -> None:
    world = world_of(store, scoring="1.0.0")
    outcome = await one_round(world)
    await end_all(world, "rerun_fail")
    later = await one_round(world)
    assert later.reputation[0].kind == "rerun_fail"
    async with store.read() as tx:
        assert [entry.value for entry in await tx.windows.of_round(0)] == [m.window_entry for m in outcome.members]
        assert {one.struck for one in await tx.reruns.entered_in(1)} == {None}
    await all_equal(store, 2)


async def test_a_void_round_counts_no_result_and_the_next_one_does(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    assert await end_all(world, "rerun_fail")
    waiting = [one.rerun_id for one in await reruns_of(store)]
    script, world.script = world.script, lambda _s, _d: ScriptedReply(connects=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(world.service), "_reachable", offline)
        end = await on_virtual_time(world, world.service.one_round())
    assert (end.outcome, end.reason) == (None, Reason.VOID_OFFLINE)
    assert [one.rerun_id for one in (await frozen_of(store, 1)).reruns] == waiting
    world.script = script
    assert [one.cause for one in (await one_round(world)).reputation[: len(waiting)]] == waiting
    assert {one.entered_in for one in await reruns_of(store)} == {2}
    await all_equal(store, 3)


async def offline(_service: object) -> bool:
    return False


async def test_a_crash_before_the_results_are_counted_counts_them_once(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await end_all(world, "rerun_fail")
    lost = await prepared(world)  # the validator dies here
    assert lost.frozen.reruns
    await resume_rounds(store, world.clock, VALIDATOR, world.gates, online, most_reruns=100)
    async with store.read() as tx:
        stored = await tx.rounds.get(1)
    assert stored is not None
    assert (stored.record.state, stored.record.reason) == ("void", Reason.BUG_CRASH)
    outcome = await one_round(world)
    assert [one.cause for one in outcome.reputation if one.kind == "rerun_fail"] == [
        one.rerun_id for one in lost.frozen.reruns
    ]
    await all_equal(store, 3)


@pytest.mark.parametrize(
    ("statement", "path"),
    [
        (update(reruns).where(reruns.c.round_id == 0).values(why="rerun_split"), "reruns"),
        (update(reruns).where(reruns.c.round_id == 0).values(entered_in=None), ""),
        (update(window_entries).where(window_entries.c.value == 0.0).values(value=1.0), "window_entries"),
        (update(reruns).where(reruns.c.struck.is_not(None)).values(struck=0.5), "window_entries"),
    ],
)
async def test_replay_finds_what_was_changed(store: Store, statement: object, path: str) -> None:
    world = world_of(store)
    await one_round(world)
    await end_all(world, "rerun_fail")
    await one_round(world)
    found = await replayed_after(store, executed(statement))
    assert [difference.path.partition("[")[0].partition(".")[0] for difference in found.differences][:1] == (
        [path] if path else []
    )


async def test_replay_holds_what_a_round_counted_against_its_input(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await end_all(world, "rerun_fail")
    await one_round(world)
    async with store.begin() as tx:
        await tx.connection.execute(update(reruns).where(reruns.c.entered_in == 1).values(event="rerun_pass"))
    assert {difference.path.partition("[")[0] for difference in (await replayed(store, 1)).differences} == {
        "input.reruns"
    }
