"""Workers as processes: the budget of one call, the treatment of calls that exceed it, and progress of the others."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from structlog.testing import capture_logs
from worker_jobs import (
    crash,
    die_of,
    die_times,
    echo,
    grab,
    hang_up,
    leave,
    note,
    spin,
    spin_for,
    spin_in_c,
    stop_once,
    stubborn,
    surroundings,
    swell_then_die_of,
    weigh,
    wrong,
)

from sssa.protocol.limits import MIB
from validator.workers import pool as worker_module
from validator.workers.interface import Budget, TooCostlyError, Whose, WorkerKilledError, WorkersError
from validator.workers.pool import Worker, WorkerPool

T = TypeVar("T")
QUICK = Budget(cpu_s=0.1)
ALICE, BOB = Whose("alice", "task-1"), Whose("bob", "task-2")


@asynccontextmanager
async def pool_of(size: int = 1, budget: Budget = QUICK) -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(size, budget=budget)
    try:
        yield pool
    finally:
        await pool.close()


async def ask(
    pool: WorkerPool, function: Callable[..., T], *args: Any, whose: Whose = ALICE, urgent: bool = False
) -> T:
    return await pool.run(whose, lambda: partial(function, *args), urgent=urgent)


def pids(pool: WorkerPool) -> set[int]:
    return {worker.process.pid for worker in pool._all}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pool: WorkerPool, pid: int) -> None:
    while alive(pid) or pid in pids(pool) or pool._ending:  # noqa: ASYNC110 - a process has no event to wait for
        await asyncio.sleep(0.001)


async def busy(pool: WorkerPool, many: int, cpu_ticks: int = 5) -> None:
    """Wait until so many workers have computed for a while."""

    def ticks(pid: int) -> int:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])

    while sum(ticks(pid) >= cpu_ticks for pid in pids(pool)) < many:  # noqa: ASYNC110 - a process has no event to wait for
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("job", "reached"),
    [
        (partial(spin), "cpu"),
        (partial(spin_in_c), "cpu"),
        (partial(grab, 2048 * MIB), "memory"),
        (partial(leave, 0), "died"),
        (partial(die_of, signal.SIGABRT), "died"),
        (partial(crash), "died"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.func.__name__,
)
async def test_what_ends_two_workers_is_too_costly_and_the_others_go_on(job: partial[None], reached: str) -> None:
    async with pool_of() as pool:
        with capture_logs() as told:
            costly = asyncio.create_task(pool.run(ALICE, lambda: job))
            others = await asyncio.gather(
                *(ask(pool, weigh, b"x" * size, whose=Whose(f"miner-{size}")) for size in range(20))
            )
            with pytest.raises(TooCostlyError) as caught:
                await costly
        assert others == list(range(20))
        words = {"cpu": "out of CPU time", "memory": "out of memory", "died": "a worker died of it"}
        assert caught.value.detail.startswith(words[reached])
        ended = [line for line in told if line["event"] == "worker_ended"]
        assert [(line["again"], line["reached"], line["hotkey"], line["task_id"]) for line in ended] == [
            (False, reached, "alice", "task-1"),
            (True, reached, "alice", "task-1"),
        ]
        assert [line["cpu_s"] for line in ended] == [0.1, 0.4]
        assert [line["memory"] for line in ended] == [256 * MIB, 1024 * MIB]
        assert await ask(pool, weigh, b"abc") == 3


async def test_the_second_try_has_four_times_the_budget() -> None:
    async with pool_of(budget=Budget(cpu_s=0.5)) as pool:
        with capture_logs() as told:
            assert await ask(pool, spin_for, 1.0) == 1.0
            assert await ask(pool, grab, 400 * MIB) == 400 * MIB
        assert [line["reached"] for line in told if line["event"] == "worker_ended"] == ["cpu", "memory"]


async def test_the_second_try_is_made_in_a_new_worker_which_ends_with_it(tmp_path: Path) -> None:
    async with pool_of() as pool:
        first, *_ = await ask(pool, surroundings)
        assert await ask(pool, die_times, tmp_path / "died", signal.SIGSEGV, 1, partial(str, "lived")) == "lived"
        await gone(pool, first)
        assert pids(pool) == set()


@pytest.mark.parametrize("kills", [1, 2, 3, 5])
@pytest.mark.parametrize("urgent", [False, True])
async def test_what_the_machine_kills_waits_and_is_tried_again_and_is_nobodys_fault(
    kills: int, urgent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("validator.workers.pool._KILLED_PAUSES_S", (0.0, 0.0))
    job = partial(die_times, tmp_path / "died", signal.SIGKILL, kills, partial(str, "lived"))
    async with pool_of() as pool:
        with capture_logs() as told:
            if kills < 3:
                assert await pool.run(ALICE, lambda: job, urgent=urgent) == "lived"
            else:
                with pytest.raises(WorkerKilledError, match="SIGKILL"):
                    await pool.run(ALICE, lambda: job, urgent=urgent)
    ended = [(line["reached"], line["again"], line["memory"]) for line in told if line["event"] == "worker_ended"]
    assert ended == [("killed", False, 256 * MIB)] * min(kills, 3)


async def test_what_went_over_its_own_memory_gains_nothing_where_the_machine_kills_what_it_grows_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("validator.workers.pool._KILLED_PAUSES_S", (0.0, 0.0))
    async with pool_of() as pool:
        with capture_logs() as told, pytest.raises(TooCostlyError, match="out of memory"):
            await ask(pool, swell_then_die_of, tmp_path / "swollen", signal.SIGKILL)
    ended = [(line["reached"], line["again"]) for line in told if line["event"] == "worker_ended"]
    assert ended == [("memory", False), *[("killed", True)] * 3]


async def test_a_kill_of_ours_is_not_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_REAP_S", 0.2)
    async with pool_of() as pool:
        with capture_logs() as told, pytest.raises(TooCostlyError, match="closed its socket"):
            await ask(pool, hang_up)
    assert [line["reached"] for line in told if line["event"] == "worker_ended"] == ["died", "died"]


async def test_the_budget_is_one_calls_own() -> None:
    async with pool_of(budget=Budget(cpu_s=1.0)) as pool:
        with capture_logs() as told:
            for _ in range(4):
                await ask(pool, spin_for, 0.4)
                await ask(pool, grab, 100 * MIB)
        assert told == []
        assert len(pids(pool)) == 1


async def test_a_worker_that_keeps_its_memory_is_not_asked_again() -> None:
    async with pool_of(budget=Budget(cpu_s=30)) as pool:
        before, *_ = await ask(pool, surroundings)
        await ask(pool, exec, f"import builtins; builtins.kept = bytearray({100 * MIB})")
        after, *_ = await ask(pool, surroundings)
        assert before != after
        await gone(pool, before)


async def test_a_worker_that_stands_still_costs_nobody_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("validator.workers.interface._WALL_S", 0.5)
    monkeypatch.setattr("validator.workers.interface._WALL_FACTOR", 0)
    async with pool_of() as pool:
        with capture_logs() as told:
            assert await ask(pool, stop_once, tmp_path / "stopped") == "went on"
            with pytest.raises(WorkersError, match="stand still"):
                await ask(pool, die_of, signal.SIGSTOP)
        assert {(line["reached"], line["again"]) for line in told} == {("wall", False)}


async def test_errors_of_a_call_are_raised_where_it_was_made() -> None:
    async with pool_of(budget=Budget(cpu_s=30)) as pool:
        with pytest.raises(ZeroDivisionError) as caught:
            await ask(pool, wrong, 0)
        assert "worker_jobs.py" in caught.value.__notes__[0]
        with pytest.raises(RuntimeError, match="StubbornError"):
            await ask(pool, stubborn)
        with pytest.raises(RecursionError):
            await ask(pool, deep)
        assert await ask(pool, wrong, 2) == 0.5


def deep() -> None:
    deep()


async def test_large_bodies_pass_both_ways_and_a_result_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async with pool_of(budget=Budget(cpu_s=30)) as pool:
        body = os.urandom(16 * MIB)
        assert await ask(pool, echo, body) == body
        with pytest.raises(OverflowError, match="a result of"):
            await ask(pool, grab_bytes, 65 * MIB)


def grab_bytes(size: int) -> bytes:
    return bytes(size)


async def test_a_workers_world_is_small() -> None:
    async with pool_of() as pool:
        os.environ["VALIDATOR__WALLET__PASSWORD"] = "secret"
        try:
            _, nice, environment = await ask(pool, surroundings)
        finally:
            del os.environ["VALIDATOR__WALLET__PASSWORD"]
        assert nice == os.nice(0) + 5
        assert "secret" not in environment.values()


async def test_urgent_calls_do_not_wait_behind_the_others() -> None:
    async with pool_of(budget=Budget(cpu_s=300)) as pool:
        spinning = [asyncio.create_task(ask(pool, spin)) for _ in range(3)]
        await busy(pool, 1)
        assert await ask(pool, weigh, b"ab", whose=BOB, urgent=True) == 2
        assert not any(task.done() for task in spinning)
        for task in spinning:
            task.cancel()


async def test_miners_take_turns(tmp_path: Path) -> None:
    file = tmp_path / "order"
    async with pool_of(budget=Budget(cpu_s=300)) as pool:
        first = asyncio.create_task(ask(pool, spin_for, 0.2))
        await busy(pool, 1)
        calls = [Whose(name) for name in ("greedy", "greedy", "greedy", "bob", "carol", "bob")]
        await asyncio.gather(first, *(ask(pool, note, file, whose.hotkey, whose=whose) for whose in calls))
    assert file.read_text().split() == ["greedy", "bob", "carol", "greedy", "bob", "greedy"]


async def test_what_waits_is_not_read_yet() -> None:
    read: list[str] = []

    def make(name: str) -> Callable[[], int]:
        read.append(name)
        return partial(weigh, b"")

    async with pool_of(budget=Budget(cpu_s=300)) as pool:
        spinning = asyncio.create_task(ask(pool, spin))
        await busy(pool, 1)
        waiting = asyncio.create_task(pool.run(BOB, lambda: make("bob")))
        await asyncio.sleep(0)
        assert read == []
        spinning.cancel()
        assert await waiting == 0
        assert read == ["bob"]


async def test_a_cancelled_call_ends_its_worker_and_frees_its_turn() -> None:
    async with pool_of(budget=Budget(cpu_s=300)) as pool:
        spinning = asyncio.create_task(ask(pool, spin_in_c))
        await busy(pool, 1)
        (pid,) = pids(pool)
        spinning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await spinning
        assert await ask(pool, weigh, b"a") == 1
        await gone(pool, pid)


async def test_closing_ends_busy_workers_at_once_and_raises_no_alarm() -> None:
    pool = WorkerPool(2, budget=Budget(cpu_s=3000))
    spinning = [asyncio.create_task(ask(pool, spin_in_c)) for _ in range(5)]
    await busy(pool, 2)
    theirs = pids(pool)
    with capture_logs() as told:
        await pool.close()
        assert not any(alive(pid) for pid in theirs)
        ended = await asyncio.gather(*spinning, return_exceptions=True)
    assert all(isinstance(error, WorkersError) for error in ended)
    assert told == []
    with pytest.raises(WorkersError, match="closed"):
        await ask(pool, weigh, b"")


async def test_when_no_process_can_be_had_calls_wait_until_one_can(monkeypatch: pytest.MonkeyPatch) -> None:
    spawn, tries = worker_module._spawn, 0

    def refuse(link: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise BlockingIOError("fork: Resource temporarily unavailable")
        return spawn(link)

    monkeypatch.setattr(worker_module, "_spawn", refuse)
    monkeypatch.setattr("validator.workers.pool._LONGEST_PAUSE_S", 0.01)
    async with pool_of() as pool:
        with capture_logs() as told:
            assert await ask(pool, weigh, b"abcd") == 4
    assert [line["event"] for line in told] == ["workers_unavailable"]
    assert "temporarily unavailable" in told[0]["reason"]


async def test_a_worker_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker.spawn()
    with pytest.raises(WorkersError, match="exit code 77"):
        await worker.ready(("validator.there_is_no_such_module",))


async def test_an_idle_worker_that_was_killed_is_replaced() -> None:
    async with pool_of() as pool:
        pid, *_ = await ask(pool, surroundings)
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - it is dying
        with capture_logs() as told:
            assert await ask(pool, weigh, b"abc") == 3
        assert told == []


async def test_how_long_an_answer_waits_is_known_until_a_worker_has_it() -> None:
    async with pool_of(budget=Budget(cpu_s=100)) as pool:
        assert pool.behind_s == 0
        first = asyncio.create_task(ask(pool, spin))
        await busy(pool, 1)
        while pool.behind_s:  # noqa: ASYNC110 - what is judged does not wait; what starts a worker computes, too
            await asyncio.sleep(0.01)
        second = asyncio.create_task(ask(pool, spin, whose=BOB))
        while pool.behind_s < 0.05:  # noqa: ASYNC110 - it is asked
            await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        assert pool.behind_s == 0
        first.cancel()
