"""Answers that are too costly to judge: rejected at gate 2, stored at once, never judged again (SPEC 5, D-27)."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from audit_file import export
from replays import replayed
from structlog.testing import capture_logs
from world import VALIDATOR, World, honest, on_virtual_time, online, prepared, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch
from sssa.protocol.limits import MAX_BODY, MIB
from sssa.protocol.reasons import Reason
from sssa.protocol.round import FailedMember
from sssa.protocol.signatures import Signer
from validator.audit.explain.round_explanation import explain_round
from validator.miners.scripted import ScriptedReply
from validator.rounds.receipts import close_epoch
from validator.rounds.resume import resume_rounds
from validator.store import Store
from validator.tasks.source import MemorySource
from validator.workers.interface import Budget, Here, TooCostlyError, Whose
from validator.workers.pool import WorkerPool

T = TypeVar("T")
COSTLY = Signer.from_uri("//Miner//2").hotkey
DEAR = b"[" + b"[]," * (MAX_BODY // 3 - 10) + b"[]]"


class Counted(Here):
    """Judges here, and finds one miner's answers too costly."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.broken = False

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:
        self.judged.append(whose.hotkey)
        if self.broken:
            raise RuntimeError("a bug")
        if whose.hotkey == COSTLY and whose.task_id:
            raise TooCostlyError("out of CPU time (SIGPROF)")
        return await super().run(whose, make, urgent=urgent)


async def test_it_costs_its_miner_what_an_invalid_answer_costs_and_nobody_else_anything(store: Store) -> None:
    world = World(store, workers=Counted())
    end = await on_virtual_time(world, world.service.one_round())
    assert end.outcome is not None
    by_reason = {reason: {m.hotkey for m in end.outcome.members if m.reason == reason} for reason in Reason}
    assert by_reason[Reason.PARSE_TOO_COSTLY] == {COSTLY}
    assert by_reason[Reason.ACCEPTED] == set(world.signers) - {COSTLY}
    assert {type(m) for m in end.outcome.members if m.hotkey == COSTLY} == {FailedMember}
    assert {e.kind for e in end.outcome.reputation if e.hotkey == COSTLY} == {"invalid"}
    assert {group.reason for group in end.outcome.groups} == {Reason.SETTLED}


async def test_it_is_stored_when_it_happens_and_not_judged_again_after_a_crash(store: Store) -> None:
    workers = Counted()
    world = World(store, workers=workers)
    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    async with store.read() as tx:
        records = [record for record in await tx.dispatches.of_round(0) if record.key.hotkey == COSTLY]
        assert records
        for record in records:
            assert (record.state, record.reason) == ("failed", Reason.PARSE_TOO_COSTLY)
            assert record.detail == "out of CPU time (SIGPROF)"
            assert await tx.dispatches.answer_body(record.key)
    workers.judged.clear()
    # the process dies here; a new one starts on the same database
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    assert set(workers.judged) == set(world.signers) - {COSTLY}
    async with store.read() as tx:
        results = await tx.submissions.results(0)
    assert {(r.hotkey, r.reason) for r in results.rejections} == {(COSTLY, "parse_too_costly")}


async def test_replay_takes_the_stored_reason_and_the_log_verifies(store: Store, tmp_path: Path) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types()[3:5]), workers=Counted())
    await on_virtual_time(world, world.service.one_round())
    replay = await replayed(store)
    assert (replay.verdict, replay.difference) == ("equal", None)
    async with store.read() as tx:
        costly = [r for r in await tx.dispatches.of_round(0) if r.reason == Reason.PARSE_TOO_COSTLY]
    assert costly
    async with store.read() as tx:
        assert replay.judged + len(costly) == len(await tx.dispatches.of_round(0))
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 1}
    async with store.read() as tx:
        explained = await explain_round(tx, 0, COSTLY)
    for task in explained.tasks:
        assert task.gates is not None
        assert task.gates.dispatch.reason == Reason.PARSE_TOO_COSTLY
        assert [gate.result for gate in task.gates.gates[:3]] == ["passed", "failed", "not_reached"]


async def test_a_poisoned_round_of_before_is_settled_at_the_next_start(store: Store) -> None:
    """An answer that was stored and never judged, as one that stopped the validator used to be."""

    def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return ScriptedReply(DEAR, seconds=0.5) if signer.hotkey == COSTLY else honest(signer, dispatch)

    world = World(store, source=MemorySource(tasks_of_all_types()[3:5]), script=script)
    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    pool = WorkerPool(2, preload=("sssa.kinds.assessment.judge",), budget=Budget(memory=2 * MIB))
    after = World(store, workers=pool)
    try:
        with capture_logs() as told:
            assert await resume_rounds(store, world.clock, VALIDATOR, after.gates, online) == ["0"]
    finally:
        await pool.close()
    async with store.read() as tx:
        results = await tx.submissions.results(0)
    assert {(r.hotkey, r.reason) for r in results.rejections} == {(COSTLY, "parse_too_costly")}
    assert {s.hotkey for s in results.passed} == set(world.signers) - {COSTLY}
    ended = sorted((line["again"], line["reached"]) for line in told if line["event"] == "worker_ended")
    many = len(results.rejections)
    assert ended == [(False, "memory")] * many + [(True, "memory")] * many


async def test_a_fault_of_ours_over_stored_answers_voids_them_alone_and_the_round_ends(store: Store) -> None:
    workers = Counted()
    world = World(store, source=MemorySource(tasks_of_all_types()), workers=workers)
    round_ = await prepared(world)
    await on_virtual_time(world, world.dispatcher.dispatch(round_))
    workers.broken = True
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
        tasks = await tx.tasks.of_round(0)
        dispatches = await tx.dispatches.of_round(0)
    assert stored is not None
    assert stored.record.state == "settled"
    for dispatch in dispatches:
        costly = dispatch.key.hotkey == COSTLY
        assert dispatch.reason == (Reason.PARSE_TOO_COSTLY if costly else Reason.BUG_INTERNAL)
        assert dispatch.void_alone != costly
    asked = {dispatch.key.task_id for dispatch in dispatches if dispatch.key.hotkey == COSTLY}
    assert {task.task_id: task.state for task in tasks} == {
        task.task_id: "settled" if task.task_id in asked else "void" for task in tasks
    }
    assert {task.reason for task in tasks if task.state == "void"} == {Reason.BUG_INTERNAL}
