"""Waiting work in both databases: whose turn it is; ended once, entered once (SPEC 12, 15)."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import and_, delete
from sqlalchemy.exc import IntegrityError
from waiting_world import RUNS, WHOLE, checks_of, code_world, judge_all, plain_world
from world import one_round

from sssa.protocol.reasons import Reason
from sssa.protocol.waiting_work import Executed, Judged
from sssa.protocol.workflow_run import CodeReport
from validator.store import Store
from validator.store.errors import MismatchError
from validator.store.tables import waiting_work

NOW = datetime(2100, 1, 1, tzinfo=UTC)


async def test_a_check_ends_once_and_comes_back_as_it_went_in(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    now = world.clock.now()
    async with store.begin() as tx:
        taken = await tx.code_checks.take(now)
        assert taken is not None
        assert (taken.state, taken.attempts, taken.started_at) == ("running", 1, now)
        assert await tx.code_checks.end(
            taken, "done", Reason.QUALITY_JUDGED, now, "a\nb", Judged(CodeReport(3, 4, 2), 0.1 + 0.2)
        )
        assert not await tx.code_checks.end(taken, "done", Reason.QUALITY_JUDGED, now, "", Judged(WHOLE, 1.0))
        assert not await tx.code_checks.end(taken, "inconclusive", Reason.BUG_INTERNAL, now)
        ended = await tx.code_checks.get(taken.work_id)
        assert ended is not None
        assert (ended.state, ended.reason, ended.detail) == ("done", "quality_judged", "a\\u000ab")
        assert (ended.report, ended.score, ended.entered_in) == (CodeReport(3, 4, 2), 0.1 + 0.2, None)
        assert await tx.code_checks.counts() == {"done": 1, "pending": 2}
        assert await tx.code_checks.listing(5, "done") == (ended,)
        assert len(await tx.code_checks.listing(2)) == 2


async def test_only_what_waits_as_it_is_can_be_entered(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    await judge_all(world)
    async with store.read() as tx:
        (one, *_) = await tx.code_checks.results(10)
        assert await tx.code_checks.results(1) == (one,)
    for changes in ({"score": 0.5}, {"hotkey": "5F"}, {"round_id": "1"}, {"task_id": "t"}, {"check_id": "c"}):
        with pytest.raises(MismatchError):
            async with store.begin() as tx:
                await tx.code_checks.enter(0, (msgspec.structs.replace(one, **changes),))
    async with store.begin() as tx:
        await tx.code_checks.enter(0, (one,))
        assert one not in await tx.code_checks.results(10)


async def test_an_answer_is_queued_once(store: Store) -> None:
    await one_round(code_world(store))
    (one, *_) = await checks_of(store)
    with pytest.raises(IntegrityError):
        async with store.begin() as tx:
            await tx.code_checks.queue([one.queued._replace(work_id="another")], one.queued_at)


async def unlike(store: Store) -> dict[str, str]:
    """Three checks of one miner wait, of the two others only the newest. Return a letter for each miner."""
    world = code_world(store)
    for _ in range(3):
        await one_round(world)
    first, *others = [one.hotkey for one in await checks_of(store)]
    old = and_(waiting_work.c.round_id < 2, waiting_work.c.hotkeys != (first,))
    async with store.begin() as tx:
        await tx.connection.execute(delete(waiting_work).where(old))
    return {first: "A", **dict(zip(sorted(others), "BC", strict=True))}


@pytest.mark.parametrize("ends", [True, False])
async def test_code_is_judged_fairly_between_miners(store: Store, ends: bool) -> None:
    """One after the other, or all at the same time: a miner with few checks never waits for one with many."""
    names = await unlike(store)
    order, now = [], NOW
    async with store.begin() as tx:
        while (taken := await tx.code_checks.take(now := now + timedelta(seconds=1))) is not None:
            order.append((names[taken.hotkey], taken.round_id))
            if ends:
                await tx.code_checks.end(taken, "inconclusive", Reason.SANDBOX_TESTS, now)
    assert order[0] == ("A", 0)
    assert {*order[1:3]} == {("B", 2), ("C", 2)}
    assert order[3:] == [("A", 1), ("A", 2)]


async def test_what_a_miner_has_running_counts_before_what_waits(store: Store) -> None:
    names = await unlike(store)
    async with store.begin() as tx:
        due = await tx.code_checks.upcoming(NOW, 10)
        assert [(one.turn, one.attempt) for one in due] == [(0, 1), (0, 1), (0, 1), (1, 1), (2, 1)]
        taken = await tx.code_checks.take(NOW)
        assert taken is not None
        assert names[taken.hotkey] == "A"
        assert [one.turn for one in await tx.code_checks.upcoming(NOW, 10)] == [0, 0, 1, 2]
        assert len(await tx.code_checks.upcoming(NOW, 2)) == 2


async def test_executions_come_in_the_order_of_rounds_and_draws(store: Store) -> None:
    world = plain_world(store)
    for _ in range(2):
        await one_round(world)
    at = world.clock.now()
    async with store.begin() as tx:
        late = await tx.executions.of_round(0)
        assert {(one.state, one.reason) for one in late} == {("inconclusive", Reason.EXECUTION_LATE)}
        for one in late:
            assert await tx.executions.retry(one.work_id, at)
        due = await tx.executions.upcoming(at, 10)
        found = [await tx.executions.get(one.work_id) for one in due]
        assert [(one.round_id, one.queued.place) for one in found if one] == [(0, 0), (0, 1), (1, 0), (1, 1)]
        assert [one.turn for one in due] == [0, 1, 2, 3]


async def test_what_begins_anew_has_neither_tries_nor_a_result(store: Store) -> None:
    world = plain_world(store)
    await one_round(world)
    at = world.clock.now()
    async with store.begin() as tx:
        taken = await tx.executions.take(at)
        assert taken is not None
        assert not await tx.executions.retry(taken.work_id, at)
        assert await tx.executions.end(taken, "inconclusive", Reason.EXECUTION_VARIES, at, "", Executed(RUNS))
        assert await tx.executions.retry(taken.work_id, at)
        again = await tx.executions.get(taken.work_id)
        assert again is not None
        assert (again.state, again.attempts, again.result, again.ended_at) == ("pending", 0, None, None)
        begun = await tx.executions.claim(taken.work_id, 1, at)
        assert begun is not None
        assert await tx.executions.postpone(begun, Reason.BUG_CRASH, at + timedelta(hours=1))
        assert await tx.executions.retry(taken.work_id, at)
        soon = await tx.executions.get(taken.work_id)
        assert soon is not None
        assert (soon.attempts, soon.due_at) == (1, at)


async def test_code_that_waits_keeps_no_answer_from_retention(store: Store) -> None:
    world = code_world(store)
    await one_round(world)
    await world.clock.advance(1.0)
    async with store.begin() as tx:
        assert (await tx.retention.prune(answers_before=world.clock.now())).answers == 3
        assert await tx.code_checks.unended() == 3
