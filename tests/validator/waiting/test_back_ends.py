"""The same behaviour of all back ends: the validator's own process, on both databases, or workers by a queue."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise

import pytest
from sqlalchemy import Table, delete
from waiting_world import ended, plain_world, until_executions
from waiting_world import image as runs_bundle
from world import World, one_round

from sssa.protocol.reasons import Reason
from validator.sandbox.interface import Sandbox, SandboxFailure, SandboxJob
from validator.sandbox.scripted import ScriptedRun, ScriptedSandbox
from validator.store import Store, open_store
from validator.store.tables import answers, bundles
from validator.waiting.embedded import EmbeddedWorker
from validator.waiting.engine_watch import SandboxWatch
from validator.waiting.executions import ExecutionWork
from validator.waiting.jobs import Sweep, open_jobs
from validator.waiting.life_cycle import EXECUTION_KIND, MOST_TRIES, pause_after
from validator.waiting.worker import QueueWorker
from validator.workers.interface import Here

Working = Callable[..., AbstractAsyncContextManager[None]]


@asynccontextmanager
async def embedded(world: World, sandbox: Sandbox, at_once: int = 2) -> AsyncIterator[None]:
    work = ExecutionWork(world.store, sandbox, Here(), world.board)
    services = (
        SandboxWatch(sandbox, world.clock, world.board),
        EmbeddedWorker(world.store, world.clock, (work,), at_once),
    )
    tasks = [asyncio.create_task(service.run()) for service in services]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def queued(url: str) -> Working:
    """The validator's sweep and a worker with its own connections; the world's clock is the only one."""

    @asynccontextmanager
    async def working(world: World, sandbox: Sandbox, at_once: int = 2) -> AsyncIterator[None]:
        async with (
            open_jobs(url, make=True) as mine,
            open_store(url, connections=2) as store,
            open_jobs(url, make=False, connections=2) as theirs,
        ):
            sweep = Sweep(world.store, world.clock, mine, (EXECUTION_KIND,), world.board)
            work = ExecutionWork(store, sandbox, Here(), world.board)
            fit = SandboxWatch(sandbox, world.clock, world.board).fit
            able = lambda: not world.board.is_active("sandbox_away")  # noqa: E731 - as the program has it
            worker = QueueWorker(store, world.clock, theirs, "a", at_once, (work,), fit=fit, able=able)
            stop = asyncio.Event()
            sweeping, taking = asyncio.create_task(sweep.run()), asyncio.create_task(worker.run(stop))
            yield
            stop.set()
            await taking
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)

    return working


@pytest.fixture(params=["embedded on sqlite", "embedded on postgres", "queue"])
def back_end(request: pytest.FixtureRequest) -> tuple[str, Working]:
    url: str = request.getfixturevalue("sqlite_url" if "sqlite" in request.param else "postgres_url")
    return url, queued(url) if request.param == "queue" else embedded


@pytest.fixture
async def store(back_end: tuple[str, Working]) -> AsyncIterator[Store]:
    async with open_store(back_end[0]) as opened:
        yield opened


@pytest.fixture
def working(back_end: tuple[str, Working]) -> Working:
    return back_end[1]


async def test_what_an_image_does_is_written_down_once(store: Store, working: Working) -> None:
    world = plain_world(store)
    await one_round(world)
    async with working(world, ScriptedSandbox(runs_bundle, world.clock)):
        rows = await until_executions(world, ended)
    assert {(one.state, one.reason, one.attempts) for one in rows} == {("done", "execution_compared", 1)}
    await one_round(world)
    async with store.read() as tx:
        outcome = await tx.records.outcome(1)
        assert outcome is not None
        assert [event.kind for event in outcome.reputation][:2] == ["rerun_pass"] * 2
        assert await tx.executions.results() == ()


async def test_failures_of_ours_are_tried_again_later_and_at_last_given_up(store: Store, working: Working) -> None:
    world = plain_world(store)
    tries: dict[str, list[float]] = {}

    def away(job: SandboxJob) -> SandboxFailure:
        tries.setdefault(job.nonce, []).append(world.clock.monotonic())
        return SandboxFailure(Reason.SANDBOX_IMAGE, "no route")

    await one_round(world)
    async with working(world, ScriptedSandbox(away, world.clock)):
        rows = await until_executions(world, ended)
    assert {(one.state, one.reason, one.attempts, one.detail) for one in rows} == {
        ("inconclusive", "sandbox_image", MOST_TRIES, "the bundle: no route")
    }
    expected = [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, *[3600.0] * 5]
    assert [pause_after(attempts) for attempts in range(1, MOST_TRIES)] == expected
    for moments in tries.values():
        pauses = [later - earlier for earlier, later in pairwise(moments)]
        assert all(pause >= least for pause, least in zip(pauses, expected, strict=True))
    async with store.read() as tx:
        assert await tx.executions.results() == ()


async def test_an_engine_that_comes_back_finds_its_jobs(store: Store, working: Working) -> None:
    world = plain_world(store)
    tries: Counter[str] = Counter()

    def back_at_the_third(job: SandboxJob) -> ScriptedRun | SandboxFailure:
        tries[job.nonce] += 1  # of this job: in the queue each has its own pace
        away = tries[job.nonce] <= 2
        return SandboxFailure(Reason.SANDBOX_NO_ENGINE, "no socket") if away else runs_bundle(job)

    await one_round(world)
    async with working(world, ScriptedSandbox(back_at_the_third, world.clock)):
        await until_executions(world, lambda every: all(x.attempts and x.state == "pending" for x in every))
        assert world.board.is_active("sandbox_away")
        rows = await until_executions(world, ended)
    assert not world.board.is_active("sandbox_away")
    assert {(one.state, one.attempts) for one in rows} == {("done", 3)}


async def test_nothing_is_taken_while_the_engine_is_not_there(store: Store, working: Working) -> None:
    class Away(ScriptedSandbox):
        fit = False

        async def start(self) -> SandboxFailure | None:
            return None if self.fit else SandboxFailure(Reason.SANDBOX_NO_ENGINE, "no socket")

    world = plain_world(store)
    sandbox = Away(runs_bundle, world.clock)
    async with working(world, sandbox):
        for _ in range(2_000):
            if world.board.is_active("sandbox_away"):
                break
            await world.clock.advance(1.0)
            await asyncio.sleep(0.001)
        assert world.board.is_active("sandbox_away")
        sandbox.fit = True
        await one_round(world)
        assert {one.state for one in await until_executions(world, ended)} == {"done"}
    assert not world.board.is_active("sandbox_away")


async def test_a_fault_of_ours_ends_no_worker(store: Store, working: Working) -> None:
    world = plain_world(store)
    broken = True

    def image(job: SandboxJob) -> ScriptedRun:
        if broken:
            raise RuntimeError("a fault of ours")
        return runs_bundle(job)

    await one_round(world)
    async with working(world, ScriptedSandbox(image, world.clock)):
        rows = await until_executions(world, lambda rows: all(one.attempts and one.state == "pending" for one in rows))
        assert {(one.reason, one.detail) for one in rows} == {("bug_internal", "RuntimeError: a fault of ours")}
        broken = False
        assert {one.state for one in await until_executions(world, ended)} == {"done"}


@pytest.mark.parametrize("table", [bundles, answers])
async def test_what_is_gone_is_given_up_at_once(store: Store, working: Working, table: Table) -> None:
    world = plain_world(store)
    await one_round(world)
    async with store.begin() as tx:
        await tx.connection.execute(delete(table))
    async with working(world, ScriptedSandbox(runs_bundle, world.clock)):
        rows = await until_executions(world, ended)
    assert {(one.state, one.reason) for one in rows} == {("inconclusive", "execution_lost")}
