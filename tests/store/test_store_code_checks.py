"""Code checks in both databases: ended once, entered once (SPEC 12)."""

import msgspec
import pytest
from code_world import WHOLE, checks_of, code_world, judge_all
from sqlalchemy.exc import IntegrityError
from world import one_round

from validator.protocol.code_report import CodeReport
from validator.protocol.reasons import Reason
from validator.store import Store
from validator.store.errors import MismatchError
from validator.store.waiting import Judged


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
