"""Code that waits is judged by the embedded worker over a scripted sandbox, on virtual time and both databases."""

from itertools import cycle, pairwise

import structlog
from msgspec.structs import replace
from recorded import grouped
from replays import replayed
from waiting_world import (
    CODE,
    TASK,
    WHOLE,
    code_world,
    ended,
    entries,
    killed_in_the_middle,
    until_checks,
    working,
    worth,
)
from workflow_builders import make_workflow
from world import World, frozen_of, one_round

from sssa.protocol.reasons import Reason
from sssa.protocol.waiting_work import CodeCheck, Judged
from sssa.protocol.workflow_run import CodeReport
from validator.daemon.waiting_work import UnjudgedWatch
from validator.health.board import Board
from validator.sandbox.interface import CodeJob, SandboxFailure
from validator.sandbox.scripted import CodeScript, ScriptedCheck, ScriptedCodeSandbox
from validator.store import Store
from validator.tasks.goals import MemoryGoals
from validator.waiting.life_cycle import CODE_KIND, MOST_TRIES, pause_after


async def judge_round(world: World, script: CodeScript) -> tuple[CodeCheck, ...]:
    await one_round(world)
    async with working(world, ScriptedCodeSandbox(script, world.clock)):
        return await until_checks(world, ended)


async def test_a_plans_code_is_judged_by_its_tasks_tests_and_paid_in_the_next_round(store: Store) -> None:
    jobs: list[CodeJob] = []

    def passes(job: CodeJob) -> ScriptedCheck:
        jobs.append(job)
        return ScriptedCheck(WHOLE, 5.0)

    world = code_world(store)
    rows = await judge_round(world, passes)
    image = (await frozen_of(store, 0)).runtime_image
    assert {(job.image, job.code, job.tests) for job in jobs} == {(image, CODE, TASK.reference.given("tests"))}
    assert [(one.state, one.reason, one.report, one.attempts) for one in rows] == [
        ("done", "quality_judged", WHOLE, 1)
    ] * 3
    assert [one.score for one in rows] == [await worth(store, one, WHOLE) for one in rows]
    await one_round(world)
    assert await entries(store, 1) == [(one.hotkey, one.task_id, one.score) for one in rows]
    assert (await replayed(store, 1)).verdict == "equal"


async def test_tests_that_hang_cost_their_own_job_and_are_a_result(store: Store) -> None:
    world = code_world(store)
    hangs = iter((True, False, False))
    rows = await judge_round(world, lambda _: ScriptedCheck(CodeReport(4, 4, 1), 1e9 if next(hangs) else 1.0))
    assert {one.state for one in rows} == {"done"}
    assert [one.report and one.report.passed for one in sorted(rows, key=lambda one: one.score or 0.0)] == [0, 4, 4]
    others = [one.ended_at for one in rows if one.report == CodeReport(4, 4, 1) and one.ended_at]
    (hanging,) = [one for one in rows if one.report == CodeReport(0, 4, 1)]
    assert hanging.started_at is not None
    assert hanging.ended_at is not None
    assert (hanging.ended_at - hanging.started_at).total_seconds() >= 60.0
    assert all(other < hanging.ended_at for other in others)


async def test_a_sandbox_that_cannot_is_asked_again_for_as_long_as_it_takes(store: Store) -> None:
    world = code_world(store, miners=1)
    tries: list[float] = []
    reasons = cycle(
        [
            Reason.SANDBOX_ENGINE,
            Reason.SANDBOX_IMAGE,
            Reason.SANDBOX_NO_ENGINE,
            Reason.SANDBOX_SLOW,
            Reason.SANDBOX_UNSUITABLE,
        ]
    )
    away = True

    def sometimes(_job: CodeJob) -> ScriptedCheck | SandboxFailure:
        tries.append(world.clock.monotonic())
        return SandboxFailure(next(reasons), "no\nroute") if away else ScriptedCheck(WHOLE)

    await one_round(world)
    async with working(world, ScriptedCodeSandbox(sometimes, world.clock)):
        (waiting,) = await until_checks(world, lambda rows: rows[0].attempts == 20 and rows[0].state == "pending")
        assert waiting.detail == "no\\u000aroute"
        assert world.board.is_active("code_waits")
        away = False
        (rows,) = await until_checks(world, ended)
        assert not world.board.is_active("code_waits")
    assert (rows.state, rows.report, rows.attempts) == ("done", WHOLE, 21)
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert all(pause >= pause_after(number) for number, pause in enumerate(pauses, 1))


async def test_tests_that_judge_nobody_leave_it_inconclusive(store: Store) -> None:
    world = code_world(store)
    rows = await judge_round(world, lambda _: SandboxFailure(Reason.SANDBOX_TESTS, "no test"))
    assert {(one.state, one.reason, one.report) for one in rows} == {("inconclusive", "sandbox_tests", None)}
    await one_round(world)
    assert (await frozen_of(store, 1)).filled == ()
    assert await entries(store, 1) == []


async def test_an_error_of_ours_is_given_up_at_last_and_can_be_tried_anew(store: Store) -> None:
    world = code_world(store, miners=1)

    def broken(_job: CodeJob) -> ScriptedCheck:
        raise RuntimeError("a fault of ours")

    with structlog.testing.capture_logs() as lines:
        (rows,) = await judge_round(world, broken)
    assert (rows.state, rows.reason, rows.attempts) == ("inconclusive", "bug_internal", MOST_TRIES)
    assert [line["outcome"] for line in lines if line["event"] == "work_ended"] == ["inconclusive"]
    assert sum(line["event"] == "work_postponed" for line in lines) == MOST_TRIES - 1
    assert any(line["event"] == "work_failed" for line in lines)
    async with store.begin() as tx:
        assert await tx.code_checks.retry(rows.work_id, world.clock.now())
    async with working(world, ScriptedCodeSandbox(lambda _: ScriptedCheck(WHOLE), world.clock)):
        (rows,) = await until_checks(world, ended)
    assert rows.report == WHOLE


async def test_a_crash_is_never_the_end_of_it(store: Store) -> None:
    world = code_world(store, miners=1)
    await one_round(world)
    await killed_in_the_middle(world, CODE_KIND, MOST_TRIES + 1)
    async with working(world, ScriptedCodeSandbox(lambda _: ScriptedCheck(WHOLE), world.clock)):
        (rows,) = await until_checks(world, ended)
    assert (rows.report, rows.attempts) == (WHOLE, MOST_TRIES + 2)


async def test_what_can_no_longer_be_read_is_said(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    async with store.begin() as tx:
        await grouped(lambda group: replace(group, runs=()))(tx)
    async with working(world, ScriptedCodeSandbox(lambda _: ScriptedCheck(WHOLE), world.clock)):
        rows = await until_checks(world, ended)
    assert {(one.state, one.reason) for one in rows} == {("inconclusive", "code_lost")}


async def test_a_validator_without_a_sandbox_names_what_it_cannot_judge(store: Store) -> None:
    world = code_world(store)
    goals = [make_workflow("code", goal=f"Goal {n}\x1b[31m" + "x" * 200) for n in range(5)]
    board = Board(world.clock)
    watch = UnjudgedWatch(MemoryGoals([*goals, make_workflow("rag")]), store, world.clock, board)
    await one_round(world)
    await watch.look()
    (standing,) = board.active()
    assert standing.condition.name == "code_off"
    assert standing.detail.startswith("tasks that cannot be judged: 5 (Goal 0\\u001b[31mxxx")
    assert standing.detail.endswith("; …); plans that wait: 3")
    assert len(standing.detail) < 400
    nothing = UnjudgedWatch(MemoryGoals([make_workflow("rag")]), store, world.clock, board)
    await nothing.look()
    assert board.is_active("code_off")  # plans wait
    async with store.begin() as tx:
        while (taken := await tx.code_checks.take(world.clock.now())) is not None:
            await tx.code_checks.end(taken, "done", Reason.QUALITY_JUDGED, world.clock.now(), "", Judged(WHOLE, 0.5))
    await nothing.look()
    assert not board.is_active("code_off")
