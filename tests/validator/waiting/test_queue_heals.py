"""Jobs that are lost, doubled or late, and workers that are lost: the rows decide, and each ends once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import psycopg
import pytest
from queue_kit import eventually
from sqlalchemy import update
from waiting_world import RUNS, ended, plain_world, until_executions
from waiting_world import image as runs_bundle
from world import World, one_round

from sssa.protocol.reasons import Reason
from sssa.protocol.waiting_work import Executed, Execution, Upcoming
from sssa.sources import VirtualClock
from validator.sandbox.interface import Evidence, SandboxFailure, SandboxJob
from validator.sandbox.scripted import ScriptedSandbox
from validator.store import Store, open_store
from validator.store.errors import StoreAwayError
from validator.store.tables import waiting_work
from validator.waiting import worker as worker_module
from validator.waiting.executions import ExecutionWork
from validator.waiting.jobs import JobQueue, Sweep, open_jobs
from validator.waiting.life_cycle import EXECUTION_KIND, Finished, QueueAwayError, Tries
from validator.waiting.worker import QueueWorker
from validator.workers.interface import Here

STALLED_S = 30.0


class Parts(NamedTuple):
    world: World
    store: Store
    jobs: JobQueue
    sweep: Sweep

    async def is_served(self) -> bool:
        return bool(await self.jobs.live())


@pytest.fixture
async def parts(postgres_url: str) -> AsyncIterator[Parts]:
    """A settled round whose two answers wait, and a validator that has not looked yet."""
    async with open_store(postgres_url) as store, open_jobs(postgres_url, make=True) as jobs:
        world = plain_world(store)
        await one_round(world)
        yield Parts(world, store, jobs, Sweep(store, world.clock, jobs, (EXECUTION_KIND,), world.board))


@asynccontextmanager
async def a_worker(parts: Parts, url: str, sandbox: object, **how: float) -> AsyncIterator[QueueWorker]:
    async with open_jobs(url, make=False, connections=2) as jobs, open_store(url, connections=2) as store:
        work = ExecutionWork(store, sandbox, Here(), parts.world.board)  # type: ignore[arg-type]
        worker = QueueWorker(store, parts.world.clock, jobs, "a", 2, (work,), **how)  # type: ignore[arg-type]
        stop = asyncio.Event()
        task = asyncio.create_task(worker.run(stop))
        try:
            yield worker
        finally:
            stop.set()
            await task


async def rows(parts: Parts) -> tuple[Execution, ...]:
    async with parts.store.read() as tx:
        return await tx.executions.of_round(0)


async def taken(parts: Parts) -> list[Execution]:
    """Both rows as a worker has begun them."""
    found = []
    for row in await rows(parts):
        async with parts.store.begin() as tx:
            begun = await tx.executions.claim(row.work_id, row.attempts + 1, parts.world.clock.now())
        assert begun is not None
        found.append(begun)
    return found


async def silent_worker(parts: Parts, url: str, seconds: float) -> int:
    """A worker that took both jobs and has not been heard of for so long."""
    number = await parts.jobs.app.job_manager.register_worker()
    for _ in range(2):
        assert await parts.jobs.app.job_manager.fetch_job(["executions"], number) is not None
    execute(url, "UPDATE procrastinate_workers SET last_heartbeat = now() - make_interval(secs => %s)", (seconds,))
    return number


def execute(url: str, statement: str, parameters: tuple[object, ...] = ()) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = public_queue")
        connection.execute(statement, parameters)


class Hanging:
    """A sandbox whose runs never end by themselves."""

    def __init__(self) -> None:
        self.open = 0

    async def start(self) -> None: ...

    async def is_full(self) -> bool:
        return self.open == 2

    async def run(self, _job: SandboxJob) -> Evidence | SandboxFailure:
        self.open += 1
        await asyncio.Event().wait()
        raise AssertionError


async def test_what_is_due_has_one_job_however_often_the_validator_looks(parts: Parts) -> None:
    for _ in range(3):
        await parts.sweep.look()
    found = list(await parts.jobs.app.job_manager.list_jobs_async())
    assert sorted(str(job.task_kwargs["work_id"]) for job in found) == [row.work_id for row in await rows(parts)]
    assert [row.state for row in await rows(parts)] == ["pending"] * 2


async def test_what_is_not_due_has_no_job_until_it_is(parts: Parts) -> None:
    for row in await taken(parts):
        async with parts.store.begin() as tx:
            due = parts.world.clock.now() + timedelta(seconds=60)
            assert await tx.executions.postpone(row, Reason.SANDBOX_IMAGE, due)
    await parts.sweep.look()
    assert (await parts.jobs.held("executions")).waiting == frozenset()
    await parts.world.clock.advance(60)
    await parts.sweep.look()
    assert len((await parts.jobs.held("executions")).waiting) == 2


async def test_jobs_that_are_lost_come_again(parts: Parts, postgres_url: str) -> None:
    await parts.sweep.look()
    execute(postgres_url, "DELETE FROM procrastinate_jobs")
    await parts.sweep.look()
    async with a_worker(parts, postgres_url, ScriptedSandbox(runs_bundle, parts.world.clock)):
        assert {row.state for row in await until_executions(parts.world, ended)} == {"done"}


async def test_jobs_that_come_twice_or_late_do_nothing(parts: Parts, postgres_url: str) -> None:
    await parts.sweep.look()
    # The same once more, and of tries that nobody waits for.
    for attempt in ("1", "1", "0", "2", "7"):
        execute(
            postgres_url,
            "INSERT INTO procrastinate_jobs (queue_name, task_name, args)"
            f" SELECT queue_name, task_name, args || '{{\"attempt\": {attempt}}}' FROM procrastinate_jobs"
            " WHERE queueing_lock IS NOT NULL",
        )
    runs: list[str] = []

    def image(job: SandboxJob) -> object:
        runs.append(job.nonce)
        return runs_bundle(job)

    async with a_worker(parts, postgres_url, ScriptedSandbox(image, parts.world.clock)):  # type: ignore[arg-type]
        assert {(row.state, row.attempts) for row in await until_executions(parts.world, ended)} == {("done", 1)}

        async def all_gone() -> bool:
            return not list(await parts.jobs.app.job_manager.list_jobs_async())

        await eventually(all_gone)
    assert sorted(Counter(runs).values()) == [3, 3]


async def test_the_rows_of_a_lost_worker_are_tried_again_after_a_pause(parts: Parts, postgres_url: str) -> None:
    await parts.sweep.look()
    await taken(parts)
    await silent_worker(parts, postgres_url, STALLED_S + 1)
    await parts.sweep.look()
    assert {row.state for row in await rows(parts)} == {"running"}  # the validator itself has only begun to look
    await parts.world.clock.advance(STALLED_S)
    await parts.sweep.look()
    found = await rows(parts)
    assert {(row.state, row.reason, row.attempts) for row in found} == {("pending", "bug_crash", 1)}
    assert {(row.due_at - parts.world.clock.now()).total_seconds() for row in found} == {60.0}
    assert list(await parts.jobs.app.job_manager.list_jobs_async()) == []


async def test_a_worker_that_was_heard_of_keeps_its_rows(parts: Parts, postgres_url: str) -> None:
    await parts.sweep.look()
    await taken(parts)
    await silent_worker(parts, postgres_url, STALLED_S - 10)
    await parts.world.clock.advance(10 * STALLED_S)
    await parts.sweep.look()
    assert {row.state for row in await rows(parts)} == {"running"}


@pytest.mark.parametrize("trouble", [QueueAwayError("no route"), StoreAwayError("no route"), RuntimeError("ours")])
async def test_after_an_outage_workers_get_as_long_again_to_show_themselves(
    parts: Parts, postgres_url: str, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    async def away(*_: object) -> NoReturn:
        raise trouble

    await parts.sweep.look()
    await taken(parts)
    await silent_worker(parts, postgres_url, 10 * STALLED_S)
    await parts.world.clock.advance(10 * STALLED_S)
    with monkeypatch.context() as patch:
        patch.setattr(parts.jobs, "drop_lost", away)
        await parts.sweep._unless_away()
    await parts.sweep.look()
    await parts.world.clock.advance(STALLED_S - 1)
    await parts.sweep.look()
    assert {row.state for row in await rows(parts)} == {"running"}
    await parts.world.clock.advance(1)
    await parts.sweep.look()
    assert {row.state for row in await rows(parts)} == {"pending"}


async def test_rows_that_no_job_stands_for_are_tried_again(parts: Parts) -> None:
    """As an embedded worker leaves them that was killed before the queue was chosen."""
    await taken(parts)
    await parts.sweep.look()
    await parts.world.clock.advance(STALLED_S)
    await parts.sweep.look()
    assert {(row.state, row.reason) for row in await rows(parts)} == {("pending", "bug_crash")}


async def test_a_try_that_was_taken_from_its_worker_writes_nothing(parts: Parts) -> None:
    lost = await taken(parts)
    tries = Tries(parts.store, parts.world.clock)
    for row in lost:
        async with parts.store.begin() as tx:
            assert await tx.executions.postpone(row, Reason.BUG_CRASH, parts.world.clock.now())
    begun = await taken(parts)
    for row in lost:
        end = Finished("done", Reason.EXECUTION_COMPARED, result=Executed(RUNS))
        await tries.finish(EXECUTION_KIND, row, end)
        await tries.hand_back(EXECUTION_KIND, row)
    assert list(await rows(parts)) == begun


async def test_a_try_from_before_a_reopening_ends_nothing_of_after(parts: Parts) -> None:
    (old, _) = await taken(parts)
    now = parts.world.clock.now()
    async with parts.store.begin() as tx:
        await tx.executions.end(old, "inconclusive", Reason.SANDBOX_IMAGE, now)
        assert await tx.executions.retry(old.work_id, now)
        begun = await tx.executions.claim(old.work_id, 1, now + timedelta(seconds=1))
        assert begun is not None
        assert begun.attempts == old.attempts
        assert not await tx.executions.end(old, "done", Reason.EXECUTION_COMPARED, now, "", Executed(RUNS, ()))


async def test_a_job_of_a_try_that_was_made_begins_no_later_one(parts: Parts) -> None:
    (old, _) = await taken(parts)
    now = parts.world.clock.now()
    async with parts.store.begin() as tx:
        assert await tx.executions.postpone(old, Reason.SANDBOX_IMAGE, now + timedelta(hours=1))
        assert await tx.executions.claim(old.work_id, old.attempts, now) is None
        assert await tx.executions.claim(old.work_id, old.attempts + 1, now) is not None


async def test_a_worker_that_must_stop_at_once_hands_back_what_it_has(parts: Parts, postgres_url: str) -> None:
    sandbox = Hanging()
    await parts.sweep.look()
    async with a_worker(parts, postgres_url, sandbox) as worker:
        await eventually(sandbox.is_full)
        worker.cut_off()

        async def all_pending() -> bool:
            return {row.state for row in await rows(parts)} == {"pending"}

        await eventually(all_pending)
    assert {(row.attempts, row.due_at <= parts.world.clock.now()) for row in await rows(parts)} == {(0, True)}
    await parts.sweep.look()
    async with a_worker(parts, postgres_url, ScriptedSandbox(runs_bundle, parts.world.clock)):
        assert {(row.state, row.attempts) for row in await until_executions(parts.world, ended)} == {("done", 1)}


async def test_a_try_that_is_cut_off_while_it_is_claimed_is_handed_back(
    parts: Parts, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed, answer = asyncio.Semaphore(0), asyncio.Event()
    lasting = Store.lasting

    async def lasting_and_late(store: Store, *arguments: Any, **how: Any) -> Any:
        done = await lasting(store, *arguments, **how)
        if not answer.is_set():
            claimed.release()
            await answer.wait()
        return done

    monkeypatch.setattr(Store, "lasting", lasting_and_late)
    await parts.sweep.look()
    async with a_worker(parts, postgres_url, Hanging()) as worker:
        for _ in range(2):
            await claimed.acquire()
        assert {row.state for row in await rows(parts)} == {"running"}
        worker.cut_off()
        answer.set()
    assert {(row.state, row.attempts) for row in await rows(parts)} == {("pending", 0)}


async def test_tries_that_outlast_the_grace_time_are_handed_back(parts: Parts, postgres_url: str) -> None:
    sandbox = Hanging()
    await parts.sweep.look()
    async with a_worker(parts, postgres_url, sandbox, grace_s=0.1):
        await eventually(sandbox.is_full)
    assert {(row.state, row.attempts) for row in await rows(parts)} == {("pending", 0)}
    assert await parts.jobs.live() == ()


async def test_a_worker_that_was_taken_for_lost_begins_anew(parts: Parts, postgres_url: str) -> None:
    await parts.sweep.look()
    async with a_worker(parts, postgres_url, ScriptedSandbox(runs_bundle, parts.world.clock), heartbeat_s=0.1):
        await eventually(parts.is_served)
        await until_executions(parts.world, ended)
        execute(postgres_url, "DELETE FROM procrastinate_workers")

        async def is_served_again() -> bool:
            await parts.world.clock.advance(1)  # it pauses first if its connection broke with what it was doing
            return await parts.is_served()

        await eventually(is_served_again)
        async with parts.store.begin() as tx:
            again = {"state": "pending", "attempts": 0, "ended_at": None, "result": None}
            await tx.connection.execute(update(waiting_work).values(again))
        await parts.sweep.look()
        assert {row.state for row in await until_executions(parts.world, ended)} == {"done"}


async def test_a_validator_without_a_live_worker_says_so(parts: Parts, postgres_url: str) -> None:
    await parts.sweep.look()
    await parts.world.clock.advance(119)
    await parts.sweep.look()
    assert not parts.world.board.is_active("workers_away")
    await parts.world.clock.advance(1)
    await parts.sweep.look()
    assert [one.detail for one in parts.world.board.active()] == ["no live worker"]
    async with a_worker(parts, postgres_url, ScriptedSandbox(runs_bundle, parts.world.clock)):
        await eventually(parts.is_served)
        await parts.sweep.look()
        ((name, queues, *_),) = await parts.jobs.live()
        assert (name, queues) == ("a", ("executions",))
        await until_executions(parts.world, ended)
    assert not parts.world.board.is_active("workers_away")


async def test_jobs_stay_bounded(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validator.waiting.jobs._AHEAD", 1)
    for _ in range(3):
        await parts.sweep.look()
    assert len((await parts.jobs.held("executions")).waiting) == 1
    async with parts.store.read() as tx:
        assert [one.turn for one in await tx.executions.upcoming(parts.world.clock.now(), 5)] == [0, 1]


async def test_who_has_few_answers_waiting_comes_before_who_has_many_in_the_queue_already(parts: Parts) -> None:
    manager = parts.jobs.app.job_manager
    await parts.jobs.defer("executions", [Upcoming(name, 1, turn) for turn, name in enumerate(("a0", "a1", "a2"))])
    await parts.jobs.defer("executions", [Upcoming("b0", 1, 0)])
    number = await manager.register_worker()
    fetched = [await manager.fetch_job(["executions"], number) for _ in range(4)]
    assert [job.task_kwargs["work_id"] for job in fetched if job is not None] == ["a0", "b0", "a1", "a2"]


async def test_a_worker_ends_when_it_is_cancelled_though_the_library_cannot_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = asyncio.Event()

    class Unable:
        worker_id = None

        def __init__(self, *_: object, **__: object) -> None: ...

        def stop(self) -> None: ...

        async def run(self) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ConnectionRefusedError from None

    monkeypatch.setattr(worker_module, "Worker", Unable)
    nothing: Any = SimpleNamespace(app=None)
    task = asyncio.create_task(QueueWorker(nothing, VirtualClock(), nothing, "a", 1).run(asyncio.Event()))
    await begun.wait()
    task.cancel()
    assert await asyncio.wait({task}, timeout=10) == ({task}, set())
    assert task.cancelled()
