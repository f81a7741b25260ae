"""The embedded worker over a scripted sandbox, on virtual time and both databases (SPEC 15)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NoReturn

import pytest
from audit_file import export
from builders import IMAGE
from replays import replayed
from waiting_world import (
    DOES,
    LIAR,
    PYTHON,
    Records,
    ended,
    executions_of,
    files_of,
    image,
    inventing,
    killed_in_the_middle,
    nobody_ran,
    plain_world,
    ran,
    serving,
    until_executions,
    world_of,
)
from world import VALIDATOR, World, one_round

from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch, probe_values
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.waiting_work import Execution
from validator.miners.scripted import ScriptedReply
from validator.rounds.receipts import close_epoch
from validator.sandbox.interface import Evidence, Sandbox, SandboxFailure, SandboxJob
from validator.sandbox.scripted import Script, ScriptedRun, ScriptedSandbox
from validator.store import Store, Transaction, open_store
from validator.store.errors import StoreAwayError
from validator.waiting.embedded import AT_ONCE, EmbeddedWorker
from validator.waiting.engine_watch import SandboxWatch
from validator.waiting.executions import ExecutionWork
from validator.waiting.life_cycle import EXECUTION_KIND, MOST_TRIES
from validator.workers.interface import Here, TooCostlyError, Workers, WorkersError


@asynccontextmanager
async def working(
    world: World, sandbox: Sandbox, workers: Workers | None = None, at_once: int = AT_ONCE, tries: Store | None = None
) -> AsyncIterator[None]:
    """The services at work on the world's store; the world's clock is the only one."""
    work = ExecutionWork(tries or world.store, sandbox, workers or Here(), world.board)
    services = (
        SandboxWatch(sandbox, world.clock, world.board),
        EmbeddedWorker(world.store, world.clock, (work,), at_once),
    )
    async with serving(services):
        yield


async def execute_all(world: World, script: Script, workers: Workers | None = None) -> tuple[Execution, ...]:
    await one_round(world)
    async with working(world, ScriptedSandbox(script, world.clock), workers):
        return await until_executions(world, ended)


async def test_a_task_is_run_three_times_and_every_valid_primary_is_compared(store: Store, tmp_path: Path) -> None:
    jobs: list[SandboxJob] = []

    def runs(job: SandboxJob) -> ScriptedRun:
        jobs.append(job)
        return image(job)

    world = world_of(store)
    rows = await execute_all(world, runs)
    assert [(one.state, one.reason, one.attempts) for one in rows] == [("done", Reason.EXECUTION_COMPARED, 1)] * 2
    for one in rows:
        assert tuple(result.hotkey for result in one.results) == one.hotkeys
        assert {result.hotkey: result.event for result in one.results} == {
            hotkey: "rerun_fail" if hotkey == LIAR.hotkey else "rerun_pass" for hotkey in one.hotkeys
        }
        assert one.report is not None
        fs = one.report.files["fs"]
        assert (fs.stable, fs.possible, fs.tracer, fs.varying) == (5, 6, 1, 0)
        caught = next(result.report for result in one.results if result.hotkey == LIAR.hotkey)
        assert caught.faults == ("fs missing", "fs invented")
        assert (caught.files["fs"].missing, caught.files["fs"].invented) == (5, 5)
        assert caught.files["fs"].shown_missing[0] == '["read","/skill/0"]'
        assert caught.files["fs"].shown_invented[0] == '["write","/tmp/invented\\u00070"]'
    async with store.read() as tx:
        tasks = {task.nonce: task for task in await tx.tasks.of_round(0)}
    for nonce, task in tasks.items():
        mine = [job for job in jobs if job.nonce == nonce]
        assert [job.bundle and sha256_hex(job.bundle) for job in mine] == [task.bundle_sha256] * 2 + [None]
        assert {(job.image, job.skill_type, job.probes) for job in mine} == {(IMAGE, PYTHON, probe_values(nonce))}
    await one_round(world)
    async with store.read() as tx:
        entries = await tx.windows.of_round(0)
    assert {entry.value == 0.0 for entry in entries if entry.hotkey == LIAR.hotkey} == {True}
    for round_id in range(2):
        assert (await replayed(store, round_id)).verdict == "equal"
    assert await close_epoch(store, VALIDATOR, world.clock)
    assert verify_file(await export(store, tmp_path / "log.jsonl")).executions == 6


def counting(first: int, most: int) -> Records:
    """Return the records of a bundle that writes a file every 10 ms: as many as the machine is fast."""
    paths = [f"/home/skill/tick-{i}" for i in range(first, most)]
    return {**DOES, "fs": [*DOES["fs"], *({"ts": i, "op": "write", "path": path} for i, path in enumerate(paths))]}


@pytest.mark.parametrize(
    ("runs", "theirs", "event", "stable"),
    [((9, 14), (0, 60), "rerun_pass", 6), ((3, 4), (20, 30), None, 8), ((9, 14), (0, 0), "rerun_fail", 6)],
)
async def test_a_bundle_that_counts_by_time_is_compared_by_families(
    store: Store, runs: tuple[int, int], theirs: tuple[int, int], event: str | None, stable: int
) -> None:
    lost = {**DOES, "network": []} if event == "rerun_fail" else counting(*theirs)
    world = world_of(store, lambda s, d: ran(s, d, lost if s.hotkey == LIAR.hotkey else counting(0, runs[0])))
    sizes = iter([*runs, 0] * 2)

    def ticking(job: SandboxJob) -> ScriptedRun:
        does = counting(0, next(sizes))
        return ScriptedRun(files_of(job.skill_type, job.nonce, does if job.bundle else {}), seconds=5.0)

    world_of_one = working(world, ScriptedSandbox(ticking, world.clock), at_once=1)
    await one_round(world)
    async with world_of_one:
        rows = await until_executions(world, ended)
    for one in rows:
        assert one.report is not None
        assert one.report.files["fs"].stable == stable
        assert {r.hotkey == LIAR.hotkey: r.event for r in one.results} == {True: event, False: "rerun_pass"}
        caught = next(result for result in one.results if result.hotkey == LIAR.hotkey)
        assert bool(caught.report.faults) == (event != "rerun_pass")
        if event == "rerun_fail":
            assert caught.report.files["fs"].shown_missing == ('["write","/home/skill/tick-#"]',)


MARK = "/home/skill/state-7.json"
TOUCHES: Records = {**DOES, "fs": [*DOES["fs"], {"ts": 9, "op": "write", "path": MARK}]}


def forgetting(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    """One miner shows all that the source says, and not what only a run shows."""
    return ran(signer, dispatch, DOES if signer.hotkey == LIAR.hotkey else TOUCHES)


@pytest.mark.parametrize(("does", "event"), [(TOUCHES, "rerun_fail"), (DOES, "rerun_pass")])
async def test_an_execution_mark_is_asked_of_everybody_if_the_runs_show_it(
    store: Store, does: Records, event: str
) -> None:
    world = world_of(store, forgetting if event == "rerun_fail" else ran, mark=MARK)
    rows = await execute_all(
        world, lambda job: ScriptedRun(files_of(job.skill_type, job.nonce, does if job.bundle else {}), seconds=5.0)
    )
    for one in rows:
        assert one.report is not None
        assert one.report.mark == (MARK if does is TOUCHES else None)
        caught = next(result for result in one.results if result.hotkey == LIAR.hotkey)
        assert (caught.event, caught.report.mark) == (event, False if does is TOUCHES else None)
        assert caught.report.faults == (("mark", "fs missing") if does is TOUCHES else ())
        assert {result.event for result in one.results if result.hotkey != LIAR.hotkey} == {"rerun_pass"}


def at_run(number: int, change: Callable[[ScriptedRun], ScriptedRun]) -> Callable[[], Script]:
    """The image, whose run of this number of each task is another."""

    def made() -> Script:
        seen: Counter[str] = Counter()

        def runs(job: SandboxJob) -> ScriptedRun:
            seen[job.nonce] += 1
            return change(image(job)) if seen[job.nonce] == number else image(job)

        return runs

    return made


def without_probe(run: ScriptedRun) -> ScriptedRun:
    return replace(run, files={**run.files, "process.jsonl": b""})


def varying() -> Script:
    """A bundle that touches nine other files every time."""
    numbers = count()

    def runs(job: SandboxJob) -> ScriptedRun:
        more = [{"ts": 1, "op": "write", "path": "/tmp/" + "x" * next(numbers)} for _ in range(9)]
        return ScriptedRun(
            files_of(job.skill_type, job.nonce, {**DOES, "fs": [*DOES["fs"], *more]} if job.bundle else {})
        )

    return runs


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lambda: lambda _: ScriptedRun({}), "execution_traces"),
        (lambda: lambda _: ScriptedRun({"fs.jsonl": b"no json"}), "execution_traces"),
        (lambda: lambda job: ScriptedRun({**image(job).files, "more": b""}), "execution_traces"),
        (lambda: lambda _: ScriptedRun({}, seconds=1e9), "execution_ended"),
        (at_run(2, lambda run: replace(run, exit_code=1)), "execution_ended"),
        (at_run(2, without_probe), "execution_probe"),
        (at_run(3, without_probe), "execution_probe"),
        (lambda: lambda job: ScriptedRun(files_of(job.skill_type, job.nonce, {})), "execution_few"),
        (varying, "execution_varies"),
        (lambda: lambda _: SandboxFailure(Reason.SANDBOX_EVIDENCE, "17 MiB"), "execution_traces"),
    ],
)
async def test_what_the_bundle_does_to_its_runs_counts_against_nobody(
    store: Store, script: Callable[[], Script], reason: str
) -> None:
    world = world_of(store)
    rows = await execute_all(world, script())
    assert {(one.state, one.reason, one.attempts, one.results) for one in rows} == {("inconclusive", reason, 1, ())}
    await one_round(world)
    async with store.read() as tx:
        outcome = await tx.records.outcome(1)
    assert outcome is not None
    events = {event.kind for event in outcome.reputation}
    assert not events & {"rerun_pass", "rerun_fail"}


async def test_a_fail_that_nobody_confirms_counts_against_nobody(store: Store) -> None:
    rows = await execute_all(world_of(store, nobody_ran), image)
    assert {(one.state, one.reason, one.results) for one in rows} == {
        ("inconclusive", Reason.EXECUTION_UNCONFIRMED, ())
    }
    assert all(one.report is not None for one in rows)  # what the runs showed can be read all the same


async def test_what_fails_here_is_tried_again_and_ends_with_the_next_round(store: Store) -> None:
    world = world_of(store)
    away = SandboxFailure(Reason.SANDBOX_NO_ENGINE, "no engine")
    await one_round(world)
    async with working(world, ScriptedSandbox(lambda _: away, world.clock)):
        rows = await until_executions(
            world, lambda rows: all(one.attempts == 2 and one.state == "pending" for one in rows)
        )
    assert {one.reason for one in rows} == {Reason.SANDBOX_NO_ENGINE}
    assert world.board.is_active("sandbox_away")
    await one_round(world)
    assert {(one.state, one.reason) for one in await executions_of(store)} == {("inconclusive", Reason.EXECUTION_LATE)}


@pytest.mark.parametrize("at_start", [True, False])
@pytest.mark.parametrize(
    ("reason", "condition"),
    [
        (Reason.SANDBOX_NO_ENGINE, "sandbox_away"),
        (Reason.SANDBOX_UNSUITABLE, "sandbox_away"),
        (Reason.SANDBOX_ENGINE, "sandbox_away"),
        (Reason.SANDBOX_IMAGE, "sandbox_image"),
        (Reason.SANDBOX_SLOW, "sandbox_slow"),
    ],
)
async def test_each_trouble_of_the_engine_has_a_condition_until_it_is_over(
    store: Store, reason: Reason, condition: str, at_start: bool
) -> None:
    class Troubled(ScriptedSandbox):
        trouble = True

        async def start(self) -> SandboxFailure | None:
            return SandboxFailure(reason, "why") if self.trouble and at_start else None

        async def run(self, job: SandboxJob) -> Evidence | SandboxFailure:
            return SandboxFailure(reason, "why") if self.trouble else await super().run(job)

    world = plain_world(store)
    await one_round(world)
    sandbox = Troubled(image, world.clock)
    async with working(world, sandbox):
        await until_executions(
            world, lambda rows: world.board.is_active(condition) and all(one.attempts for one in rows)
        )
        assert [one.condition.name for one in world.board.active()] == [condition]
        sandbox.trouble = False
        await until_executions(world, ended)
        assert world.board.active() == ()


class Hanging:
    """A sandbox whose runs never end."""

    async def start(self) -> SandboxFailure | None:
        return None

    async def run(self, _job: SandboxJob) -> Evidence | SandboxFailure:
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None: ...


async def test_what_a_kill_left_running_ends_once_after_the_next_start(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await killed_in_the_middle(world, EXECUTION_KIND, 3)
    async with store.read() as tx:
        assert len(await tx.executions.running()) == 1
    async with working(world, ScriptedSandbox(image, world.clock)):
        rows = await until_executions(world, ended)
    assert {one.state for one in rows} == {"done"}
    assert sum(one.attempts for one in rows) == 3 + 2
    async with store.read() as tx:
        assert len(await tx.executions.results()) == 6


async def test_an_orderly_stop_puts_a_running_try_back_and_counts_none(store: Store) -> None:
    """Found by the simulation: the next start called it a crash, and three restarts ended an execution."""
    world = world_of(store)
    await one_round(world)
    async with working(world, ScriptedSandbox(lambda _: ScriptedRun({}, 60.0), world.clock)):
        await until_executions(world, lambda rows: any(one.state == "running" for one in rows))
    async with store.read() as tx:
        rows = await tx.executions.of_round(0)
    assert {(one.state, one.attempts, one.reason) for one in rows} == {("pending", 0, None)}


async def test_what_kills_the_validator_every_time_is_given_up(store: Store) -> None:
    world = world_of(store)
    await one_round(world)
    await killed_in_the_middle(world, EXECUTION_KIND, 2 * MOST_TRIES)
    async with working(world, Hanging()):
        rows = await until_executions(world, ended)
    assert {(one.state, one.reason, one.attempts) for one in rows} == {("inconclusive", "bug_crash", MOST_TRIES)}


async def test_a_try_that_cannot_read_what_it_needs_is_handed_back(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(store)
    await one_round(world)
    async with open_store(store_url) as other:
        read, met = other.read, []

        def away() -> NoReturn:
            monkeypatch.setattr(other, "read", read)
            met.append(True)
            raise StoreAwayError("away")

        async def outlasting(
            work: Callable[[Transaction], Awaitable[object]], *, patience_s: float | None = None
        ) -> object:
            if patience_s is not None:  # the database is away for longer than that
                raise StoreAwayError("away")
            return await lasting(work)

        lasting = world.store.lasting
        monkeypatch.setattr(world.store, "lasting", outlasting)
        monkeypatch.setattr(other, "read", away)
        async with working(world, ScriptedSandbox(image, world.clock), tries=other):
            rows = await until_executions(world, ended)
    assert met
    assert [(one.state, one.attempts) for one in rows] == [("done", 1)] * 2


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (TooCostlyError("dear"), "inconclusive", "execution_traces"),
        (WorkersError("still"), "pending", "bug_internal"),
    ],
)
async def test_what_comparing_costs_is_bounded(store: Store, error: Exception, state: str, reason: str) -> None:
    class Failing(Here):
        async def run(self, *_: object, **__: object) -> NoReturn:
            raise error

    world = world_of(store, inventing)
    await one_round(world)
    async with working(world, ScriptedSandbox(image, world.clock), Failing()):
        rows = await until_executions(world, lambda rows: all(one.attempts and one.state == state for one in rows))
    assert {one.reason for one in rows} == {reason}


async def test_a_body_that_retention_took_makes_it_impossible(store: Store) -> None:
    world = world_of(store, ran)
    await one_round(world)
    async with store.begin() as tx:
        pruned = await tx.retention.prune(answers_before=world.clock.now(), bundles_before=world.clock.now())
        assert pruned == (0, 0)  # what waits for an execution stays
        for _ in range(2):
            taken = await tx.executions.take(world.clock.now())
            assert taken is not None
            assert await tx.executions.end(taken, "inconclusive", Reason.EXECUTION_LATE, world.clock.now())
    await world.clock.advance(1.0)
    async with store.begin() as tx:
        pruned = await tx.retention.prune(answers_before=world.clock.now(), bundles_before=world.clock.now())
        assert pruned.answers == 6
        for one in await tx.executions.of_round(0):
            assert await tx.executions.retry(one.work_id, world.clock.now())
    async with working(world, ScriptedSandbox(image, world.clock)):
        rows = await until_executions(world, ended)
    assert {(one.state, one.reason) for one in rows} == {("inconclusive", Reason.EXECUTION_LOST)}
