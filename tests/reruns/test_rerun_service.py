"""The embedded worker over a scripted sandbox, on virtual time and both databases (SPEC 15)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from audit_file import export
from builders import IMAGE
from replays import replayed
from rerun_world import LIAR, PYTHON, ended, honest_image, inventing, until, world_of
from world import VALIDATOR, World, one_round

from validator.audit.log import verify_file
from validator.protocol.canonical import sha256_hex
from validator.protocol.probes import probe_values
from validator.protocol.rerun import TraceReport
from validator.queue.embedded import AT_ONCE, EmbeddedWorker
from validator.reruns.sandbox.job import Evidence, Sandbox, SandboxFailure, SandboxJob
from validator.reruns.sandbox.scripted import Script, ScriptedRun, ScriptedSandbox
from validator.reruns.watch import SandboxWatch
from validator.reruns.work import MOST_TRIES, RerunWork
from validator.rounds.receipts import close_epoch
from validator.store import Store
from validator.store.rerun import Rerun
from validator.workers.interface import Here, TooCostlyError, Workers, WorkersError


@asynccontextmanager
async def working(
    world: World, sandbox: Sandbox, workers: Workers | None = None, at_once: int = AT_ONCE
) -> AsyncIterator[None]:
    """The services at work on the world's store; the world's clock is the only one."""
    work = RerunWork(world.store, sandbox, workers or Here(), world.board)
    services = (
        SandboxWatch(sandbox, world.clock, world.board),
        EmbeddedWorker(world.store, world.clock, (work,), at_once),
    )
    tasks = [asyncio.create_task(service.run()) for service in services]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def comes_to(world: World, script: Script) -> tuple[Rerun, ...]:
    await one_round(world)
    async with working(world, ScriptedSandbox(script, world.clock)):
        return await until(world, ended)


async def test_an_image_that_does_what_its_miner_claims_passes(store: Store) -> None:
    jobs: list[SandboxJob] = []

    def image(job: SandboxJob) -> ScriptedRun:
        jobs.append(job)
        return honest_image(job)

    world = world_of(store)
    found = await comes_to(world, image)
    assert [(one.state, one.event, one.reason, one.attempts) for one in found] == [
        ("done", "rerun_pass", "rerun_same", 1)
    ] * 2
    assert found[0].report is not None
    assert found[0].report.probes == {"file": True, "network": True, "process": True}
    assert (found[0].report.fs_equal, found[0].report.similarity) == (True, 1.0)
    async with store.read() as tx:
        tasks = {task.nonce: task for task in await tx.tasks.of_round(0)}
        for job in jobs:
            assert (job.image, job.skill_type) == (IMAGE, PYTHON)
            assert job.bundle is not None
            assert sha256_hex(job.bundle) == tasks[job.nonce].bundle_sha256
            assert job.probes == probe_values(job.nonce)
    await one_round(world)
    async with store.read() as tx:
        events = [record.event.kind for record in await tx.reputations.of_round(1)]
    assert events[:2] == ["rerun_pass", "rerun_pass"]


async def test_a_miner_with_invented_traces_is_struck(store: Store, tmp_path: Path) -> None:
    """All three answer alike, and the liar's traces pass every gate: only running its image again shows it."""
    world = world_of(store, inventing, miners=3)
    lies = 0
    async with working(world, ScriptedSandbox(honest_image, world.clock)):
        for round_id in range(6):
            await one_round(world)
            for _ in range(2_000):
                async with store.read() as tx:
                    if not await tx.reruns.unended():
                        break
                await world.clock.advance(1.0)
                await asyncio.sleep(0.001)
            async with store.read() as tx:
                lies += sum(one.event == "rerun_fail" for one in await tx.reruns.of_round(round_id))
    await one_round(world)
    async with store.read() as tx:
        every = [one for round_id in range(6) for one in await tx.reruns.of_round(round_id)]
        struck = [one for one in every if one.struck is not None]
        entries = {(e.round_id, e.task_id, e.hotkey): e.value for i in range(6) for e in await tx.windows.of_round(i)}
        reputations = await tx.reputations.all()
    assert lies == len(struck) > 0
    for one in every:
        liar = one.key.hotkey == LIAR.hotkey
        assert (one.event, one.reason) == (("rerun_fail", "rerun_fs") if liar else ("rerun_pass", "rerun_same"))
        entry = entries.get((one.key.round_id, one.key.task_id, one.key.hotkey))
        assert entry is None or (entry == 0.0) == liar  # without the liar two are left, too few for a verdict
    assert struck[0].report is not None
    fs = struck[0].report.traces["fs"]
    assert fs == TraceReport(3, 2, 2, 1.0, ('["write","/tmp/invented\\u0007"]',), ())
    assert reputations[LIAR.hotkey, PYTHON] == min(reputations.values()) < 0.7 * max(reputations.values())
    for round_id in range(7):
        assert (await replayed(store, round_id)).verdict == "equal"
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).rounds == {"settled": 7}


@pytest.mark.parametrize(
    ("script", "event", "reason"),
    [
        (lambda _: ScriptedRun({}), "rerun_fail", "rerun_traces"),
        (lambda _: ScriptedRun({"fs.jsonl": b"no json"}), "rerun_fail", "rerun_traces"),
        (lambda job: ScriptedRun({**honest_image(job).files, "more": b""}), "rerun_fail", "rerun_traces"),
        (lambda _: ScriptedRun({}, seconds=1e9), "rerun_fail", "rerun_traces"),
        (
            lambda job: ScriptedRun({**honest_image(job).files, "process.jsonl": b""}),
            "rerun_fail",
            "rerun_probes",
        ),
    ],
)
async def test_what_is_the_images_own_doing_counts_against_its_miner(
    store: Store, script: Script, event: str, reason: str
) -> None:
    found = await comes_to(world_of(store), script)
    assert {(one.state, one.event, one.reason, one.attempts) for one in found} == {("done", event, reason, 1)}


class Hanging:
    """A sandbox whose runs never end."""

    async def start(self) -> SandboxFailure | None:
        return None

    async def run(self, _job: SandboxJob) -> Evidence | SandboxFailure:
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None: ...


async def killed_in_the_middle(world: World, times: int) -> None:
    """The process ends with runs on their way, so often."""
    for tries in range(1, times + 1):
        async with working(world, Hanging(), at_once=1):
            await until(world, lambda found, tries=tries: sum(one.attempts for one in found) == tries)  # type: ignore[misc]


async def test_what_a_kill_left_running_ends_once_after_the_next_start(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await killed_in_the_middle(world, 3)
    async with store.read() as tx:
        assert len(await tx.reruns.running()) == 1
    async with working(world, ScriptedSandbox(honest_image, world.clock)):
        found = await until(world, ended)
    assert {one.event for one in found} == {"rerun_pass"}
    assert sum(one.attempts for one in found) == 3 + 2
    async with store.read() as tx:
        assert len(await tx.reruns.results()) == 2


async def test_what_kills_the_validator_every_time_is_given_up(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await killed_in_the_middle(world, 2 * MOST_TRIES)
    async with working(world, Hanging()):
        found = await until(world, ended)
    assert {(one.state, one.reason, one.attempts) for one in found} == {("inconclusive", "bug_crash", MOST_TRIES)}


class Counting:
    """A sandbox that counts how many runs are open."""

    def __init__(self, inner: Sandbox) -> None:
        self.inner = inner
        self.open = self.most = 0

    async def start(self) -> SandboxFailure | None:
        return None

    async def run(self, job: SandboxJob) -> Evidence | SandboxFailure:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            return await self.inner.run(job)
        finally:
            self.open -= 1

    async def close(self) -> None: ...


@pytest.mark.parametrize("at_once", [1, 3])
async def test_so_many_run_at_the_same_time(store: Store, at_once: int) -> None:
    world = world_of(store)
    for _ in range(3):
        await one_round(world)
    sandbox = Counting(ScriptedSandbox(lambda job: replace(honest_image(job), seconds=100.0), world.clock))
    async with working(world, sandbox, at_once=at_once):
        await until(world, ended)
    assert sandbox.most == at_once


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [(TooCostlyError("dear"), "done", "rerun_traces"), (WorkersError("still"), "pending", "bug_internal")],
)
async def test_what_comparing_costs_is_bounded(store: Store, error: Exception, state: str, reason: str) -> None:
    class Failing(Here):
        async def run(self, *_: object, **__: object) -> NoReturn:
            raise error

    world = world_of(store)
    await one_round(world)
    async with working(world, ScriptedSandbox(honest_image, world.clock), Failing()):
        found = await until(world, lambda found: all(one.attempts and one.state == state for one in found))
    assert {one.reason for one in found} == {reason}
