"""Skills that somebody submits: one in a round, whose answers enter nothing, whatever they are (SPEC 5, D-45)."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from attested import Attested
from audit_file import export, fault_of, verified
from builders import FILES
from world import Script, World, answer_to, few_tasks, frozen_of, garbage, honest, one_round

from publisher.publish import Published, Refused
from publisher.submission import NotTakenError, QueueFullError, submit
from sssa.attestation.verify import parse_handed, verify_attestation
from sssa.protocol.answer import Dispatch
from sssa.protocol.archives import pack
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessedMember, FailedMember, MemberOutcome, RoundOutcome, is_submitted
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding
from sssa.protocol.tallies import Tally
from sssa.protocol.task import Task, Truth
from sssa.scoring import Schedule, executed_tasks
from sssa.sources import SeededRandom
from sssa.state.mechanism_state import State
from validator.audit.replay import replay_round
from validator.kinds.assessment.supply import Bundles
from validator.miners.scripted import ScriptedReply
from validator.store import Store, open_store
from validator.tasks.source import MemorySource, SourcedTask
from validator.tasks.submitted import next_submitted

SKILL = pack({**FILES, "SKILL.md": b"---\nname: a-skill\n---\n"})
SHA256 = sha256_hex(SKILL)
VERSIONS = ("1.0.0", "2.0.0")


class Open(Attested):
    """A world that takes what is submitted, under a scoring version."""

    def __init__(self, store: Store, name: str = "1.0.0", script: Script = honest) -> None:
        super().__init__(store, script=script)
        random = SeededRandom("submitted")
        supplies = (Bundles(self.source, None, random, partial(next_submitted, store)),)
        self.preparer = replace(self.preparer, supplies=supplies, schedule=Schedule({name: 0}))
        self.service.preparer = self.preparer

    async def state(self) -> State:
        async with self.store.read() as tx:
            return await tx.state.of(set(self.signers))


async def submitted_to(world: World, data: bytes = SKILL, most: int = 3) -> str:
    return await submit(world.store, data, SkillType.DECLARATIVE, world.clock.now(), most)


async def test_a_submitted_skill_is_asked_once_and_attested(store: Store, tmp_path: Path) -> None:
    world = Open(store)
    await one_round(world)
    await world.vouch(world.key)
    assert await submitted_to(world) == SHA256
    assert await submitted_to(world) == SHA256  # once more is the same
    assert isinstance(await world.answer_of(SHA256), Refused)
    outcome = await one_round(world)
    (task,) = filter(is_submitted, (await frozen_of(store, 1)).tasks)
    assert task.source_sha256 == SHA256
    members = [one for one in outcome.members if one.task_id == task.task_id]
    assert {one.reason for one in members} == {Reason.ACCEPTED_SUBMITTED}
    document = await world.document(SHA256)
    assert verify_attestation(*parse_handed(document), world.clock.now()).sha256 == SHA256
    async with store.read() as tx:
        listed = await world.listing(tx, "", 100)
        kept = await tx.submitted.get(SHA256)
    assert SHA256 in {one.sha256 for one in listed if isinstance(one, Published)}
    assert kept is not None
    assert (kept.round_id, kept.data) == (1, None)
    await one_round(world)
    assert not any(map(is_submitted, (await frozen_of(store, 2)).tasks))
    verified(tmp_path, (await export(store, tmp_path / "log")).read_bytes())


def lies(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """A valid answer that says something else for every miner."""
    answer = answer_to(signer, dispatch)
    risk = int(sha256_hex(signer.hotkey.encode())[:4], 16) / 65_536
    finding = Finding("f", "other", "high", "words", "a.py#L1", (), signer.hotkey)
    analysis = msgspec.structs.replace(answer.sssa.analysis, verdict="BLOCK", risk_score=risk, findings=(finding,))
    sssa = signer.sign_document(msgspec.structs.replace(answer.sssa, analysis=analysis))
    return ScriptedReply(msgspec.json.encode(msgspec.structs.replace(answer, sssa=sssa)), seconds=1.0)


def to_the_submitted(script: Script) -> Script:
    """Answer the submitted skill so, and all others honestly."""
    return lambda signer, dispatch: (script if dispatch.bundle_sha256 == SHA256 else honest)(signer, dispatch)


class Came(NamedTuple):
    """Results of rounds: the submitted task's members, the rest of the outcome, and the state after it."""

    submitted: tuple[MemberOutcome, ...]
    rest: RoundOutcome
    state: State


async def came(name: str, script: Script, folder: Path) -> Came:
    """Play a round with and one without a submitted skill; replay and the verifier compute the same again."""
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        world = Open(store, name, to_the_submitted(script))
        await submitted_to(world)
        outcome = await one_round(world)
        (task,) = filter(is_submitted, (await frozen_of(store, 0)).tasks)
        after = await one_round(world)
        log = (await export(store, folder / "log")).read_bytes()
        state = await world.state()
        async with store.read() as tx:
            replayed = [await replay_round(tx, round_id) for round_id in (0, 1)]
    verified(folder, log)
    assert all(one is not None and one.difference is None for one in replayed)
    of_it = tuple(one for one in outcome.members if one.task_id == task.task_id)
    others = tuple(one for one in outcome.members if one.task_id != task.task_id)
    groups = tuple(one for one in outcome.groups if one.task_id != task.task_id)
    assert after.members
    return Came(of_it, msgspec.structs.replace(outcome, members=others, groups=groups), state)


@pytest.mark.parametrize("name", VERSIONS)
async def test_answers_to_a_submitted_skill_enter_nothing(name: str, tmp_path: Path) -> None:
    found = []
    for script in (honest, lies, garbage):
        (folder := tmp_path / script.__name__).mkdir()
        found.append(await came(name, script, folder))
    fine, lied, failed = found
    assert fine.rest == lied.rest == failed.rest
    assert fine.state == lied.state == failed.state
    for one in (*fine.submitted, *lied.submitted):
        assert isinstance(one, AssessedMember)
        assert (one.reason, one.window_entry, one.emission) == (Reason.ACCEPTED_SUBMITTED, None, None)
        assert not isinstance(one.tally, Tally)
    for other in failed.submitted:
        assert isinstance(other, FailedMember)
        assert (other.window_entry, isinstance(other.tally, Tally)) == (None, False)
    assert len(fine.submitted) == len(failed.submitted) > 2


async def test_a_verifier_refuses_submissions_that_are_none(sqlite_url: str, tmp_path: Path) -> None:
    truth = Truth("ALLOW", None, None, None, None, None, None, None)
    task = Task("1.0", SkillType.DECLARATIVE, None, SHA256, "curated", truth, None)

    async def cheating(_: Collection[SkillType]) -> SourcedTask:
        return SourcedTask(task, SKILL)

    async with open_store(sqlite_url) as store:
        world = Open(store)
        supplies = (Bundles(world.source, None, SeededRandom("cheat"), cheating),)
        world.service.preparer = replace(world.preparer, supplies=supplies)
        await one_round(world)
        data = (await export(store, tmp_path / "log")).read_bytes()
    assert "is of a task with a truth" in str(fault_of(tmp_path, data))


async def test_what_nobody_may_submit_is_refused(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Open(store)
        with pytest.raises(QueueFullError, match="takes none"):
            await submitted_to(world, most=0)
        for bad in (b"", b"no gzip", SKILL[:-9], b"\x1f\x8b" + bytes(9_000_000)):
            with pytest.raises(NotTakenError):
                await submitted_to(world, bad)
        with pytest.raises(NotTakenError, match="it could be anything"):
            await submit(store, pack({"x.bin": b"x"}), None, world.clock.now(), 1)
        await submitted_to(world, most=1)
        with pytest.raises(QueueFullError):
            await submitted_to(world, pack({"SKILL.md": b"other"}), most=1)
        await submitted_to(world, most=1)


async def test_a_bundle_that_was_a_task_is_taken_and_never_asked(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Open(store)
        await one_round(world)
        task = few_tasks()[0]
        assert await submit(store, task.bundle, None, world.clock.now(), 1) == task.task.bundle_sha256
        await one_round(world)
        assert not any(map(is_submitted, (await frozen_of(store, 1)).tasks))
        assert await next_submitted(store, list(SkillType)) is None


async def test_no_source_gives_a_skill_again_that_was_submitted(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Open(store)
        await submitted_to(world)
        await one_round(world)
        sourced = SourcedTask(Task("1.0", SkillType.DECLARATIVE, None, SHA256, "none", None, None), SKILL)
        assert isinstance(world.source, MemorySource)
        world.source.add(sourced)
        await one_round(world)
        assert SHA256 not in {one.source_sha256 for one in (await frozen_of(store, 1)).tasks}


async def test_a_submitted_skill_is_not_executed(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        world = Open(store)
        world.service.preparer = replace(world.preparer, executes=True)
        await submit(store, SKILL, SkillType.MCP_SERVER, world.clock.now(), 1)
        outcome = await one_round(world)
        frozen = await frozen_of(store, 0)
        async with store.read() as tx:
            plan = await tx.groups.plan_of(0)
            proofs = {task.task_id: await tx.proofs.of_task(task.task_id) for task in frozen.tasks}
    executed = [one.task_id for one in executed_tasks(frozen, plan, outcome)]
    runtime = [one for one in frozen.tasks if one.skill_type is SkillType.MCP_SERVER]
    assert executed == [one.task_id for one in runtime if not is_submitted(one)]
    assert len(runtime) == len(executed) + 1
    assert all(proofs.values())
