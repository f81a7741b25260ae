"""Reruns in both databases: taken in turn, ended once, counted once; what they need stays (SPEC 15, D-30)."""

from datetime import datetime

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from store_examples import HOTKEYS, PYTHON, a_round, at, play_round, sha, task_id

from validator.protocol.canonical import sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.rerun import RerunReport, TraceReport
from validator.protocol.round import RerunResult
from validator.protocol.runtime_image import RuntimeImage
from validator.scoring import StruckEntry
from validator.store import DispatchKey, Store
from validator.store.errors import MismatchError
from validator.store.records import WindowEntry
from validator.store.rerun import QueuedRerun, Rerun
from validator.store.tables import bundles, reruns, rounds

IMAGE = RuntimeImage("registry.invalid/a\0b:latest", "sha256:" + "0" * 64)
A, B, C = HOTKEYS[:3]
REPORT = RerunReport(
    {"file": True, "network": False, "process": True},
    {"fs": TraceReport(3, 2, 1, 0.5, ("write /tmp/x",), ("read \\ud800",))},
    fs_equal=False,
    similarity=0.1 + 0.2,
)


def queued(rank: int, hotkey: str, round_id: int = 0) -> QueuedRerun:
    key = DispatchKey(round_id, task_id(round_id, PYTHON), hotkey)
    return QueuedRerun(f"{round_id:016d}-000-{rank:02d}", key, PYTHON, Reason.RERUN_DIVERGES, IMAGE)


async def with_reruns(store: Store, *hotkeys: str, round_id: int = 0) -> None:
    """A settled round; the answers of these members are to be run again."""
    await play_round(store, round_id, {PYTHON: HOTKEYS})
    async with store.begin() as tx:
        await tx.reruns.queue([queued(rank, hotkey, round_id) for rank, hotkey in enumerate(hotkeys)], at(100))


async def take(store: Store, now: datetime) -> Rerun:
    async with store.begin() as tx:
        found = await tx.reruns.take(now)
    assert found is not None
    return found


async def fail(store: Store, rerun: Rerun, at_second: float = 300) -> None:
    async with store.begin() as tx:
        assert await tx.reruns.done(rerun, "rerun_fail", Reason.RERUN_FS, REPORT, at(at_second))


async def test_a_rerun_comes_back_as_it_went_in_and_ends_once(store: Store) -> None:
    await with_reruns(store, A)
    async with store.read() as tx:
        assert (await tx.reruns.unended(), await tx.reruns.next_due()) == (1, at(100))
    running = await take(store, at(200))
    assert (running.queued, running.state, running.attempts) == (queued(0, A), "running", 1)
    assert (running.queued_at, running.started_at, running.event) == (at(100), at(200), None)
    async with store.begin() as tx:
        assert await tx.reruns.take(at(1_000)) is None
    await fail(store, running)
    async with store.begin() as tx:
        assert not await tx.reruns.done(running, "rerun_pass", Reason.RERUN_SAME, None, at(400))
        assert not await tx.reruns.again(running, Reason.RERUN_FS, at(400))
        assert not await tx.reruns.give_up(running, Reason.RERUN_FS, at(400))
        assert not await tx.reruns.reopen(running.rerun_id, at(400))
        assert not await tx.reruns.hasten(running.rerun_id, at(400))
    async with store.read() as tx:
        ended = await tx.reruns.get(running.rerun_id)
        assert await tx.reruns.unended() == 0
        assert await tx.reruns.of_round(0) == (ended,) == await tx.reruns.listing(5, "done")
        assert await tx.reruns.counts() == {"done": 1}
    assert ended is not None
    assert (ended.state, ended.event, ended.reason, ended.report) == ("done", "rerun_fail", "rerun_fs", REPORT)
    assert (ended.ended_at, ended.entered_in, ended.struck) == (at(300), None, None)


async def test_a_try_that_is_not_the_running_one_changes_nothing(store: Store) -> None:
    await with_reruns(store, A)
    lost = await take(store, at(200))
    async with store.begin() as tx:
        assert await tx.reruns.running() == (lost,)
        assert await tx.reruns.again(lost, Reason.BUG_CRASH, at(260), "the engine\nwent")
    async with store.read() as tx:
        waiting = await tx.reruns.get(lost.rerun_id)
        assert await tx.reruns.next_due() == at(260)
    assert waiting is not None
    assert (waiting.state, waiting.attempts, waiting.reason, waiting.detail) == (
        "pending",
        1,
        "bug_crash",
        "the engine\\u000awent",
    )
    async with store.begin() as tx:
        assert await tx.reruns.take(at(259)) is None
    second = await take(store, at(260))
    async with store.begin() as tx:
        assert not await tx.reruns.done(lost, "rerun_fail", Reason.RERUN_FS, None, at(270))
        assert await tx.reruns.done(second, "rerun_pass", Reason.RERUN_SAME, None, at(280))
        assert [one.event for one in await tx.reruns.results()] == ["rerun_pass"]


async def test_what_ends_without_an_event_enters_nothing_until_it_is_tried_again(store: Store) -> None:
    await with_reruns(store, A)
    async with store.begin() as tx:
        assert await tx.reruns.give_up(await _taken(tx), Reason.BUG_CRASH, at(300))
        assert await tx.reruns.results() == ()
        assert await tx.reruns.next_due() is None
        assert await tx.reruns.take(at(10_000)) is None
        rerun_id = queued(0, A).rerun_id
        assert await tx.reruns.reopen(rerun_id, at(400))
        assert not await tx.reruns.reopen(rerun_id, at(500))
        assert await tx.reruns.hasten(rerun_id, at(350))
        again = await tx.reruns.get(rerun_id)
    assert again is not None
    assert (again.state, again.attempts, again.due_at, again.ended_at) == ("pending", 0, at(350), None)


async def _taken(tx: object) -> Rerun:
    found = await tx.reruns.take(at(10_000))  # type: ignore[attr-defined]
    assert isinstance(found, Rerun)
    return found


async def test_miners_take_turns(store: Store) -> None:
    """A has four answers waiting, B and C one each: nobody waits behind all of A's."""
    for round_id in range(3):
        await with_reruns(store, A, round_id=round_id)
    await with_reruns(store, A, B, C, round_id=3)
    assert [(await take(store, at(200 + turn))).key.hotkey for turn in range(3)] == [A, B, C]  # all at the same time
    async with store.read() as tx:
        running = await tx.reruns.running()
    for one in running:
        await fail(store, one)
    async with store.begin() as tx:
        await tx.reruns.queue([], at(0))
    assert [(await take(store, at(300 + turn))).key for turn in range(3)] == [
        queued(0, A, round_id).key for round_id in (1, 2, 3)
    ]


async def test_who_has_one_running_waits_for_who_has_none(store: Store) -> None:
    for round_id in range(2):
        await with_reruns(store, B, A, round_id=round_id)
    first, second = await take(store, at(200)), await take(store, at(250))
    assert (first.key.hotkey, second.key.hotkey) == (B, A)
    await fail(store, second)
    assert (await take(store, at(300))).key.hotkey == A  # its last try began later than that of B, which runs


async def test_whose_last_try_is_longest_ago_is_next(store: Store) -> None:
    for round_id in range(2):
        await with_reruns(store, A, B, round_id=round_id)
    async with store.begin() as tx:
        await tx.reruns.hasten(queued(1, B).rerun_id, at(0))
    first, second = await take(store, at(200)), await take(store, at(250))
    async with store.begin() as tx:
        assert await tx.reruns.again(first, Reason.BUG_CRASH, at(260))
    third = await take(store, at(270))
    assert [one.key.hotkey for one in (first, second, third)] == [A, B, A]
    await fail(store, second)
    await fail(store, third)
    assert (await take(store, at(300))).key == queued(1, B, 1).key


async def test_an_answer_is_run_again_once(store: Store) -> None:
    await with_reruns(store, A)
    with pytest.raises(IntegrityError):
        async with store.begin() as tx:
            await tx.reruns.queue([queued(0, A)._replace(rerun_id="other")], at(100))


async def test_results_are_counted_once_and_take_the_window_entry(store: Store) -> None:
    await with_reruns(store, A, B)
    await play_round(store, 1, {PYTHON: HOTKEYS})
    entries = [WindowEntry(hotkey, PYTHON, 0, task_id(0, PYTHON), 1.25) for hotkey in (A, B)]
    async with store.begin() as tx:
        await tx.windows.add(entries)
    first, second = await take(store, at(200)), await take(store, at(200))
    await fail(store, first)
    async with store.begin() as tx:
        assert await tx.reruns.done(second, "rerun_pass", Reason.RERUN_SAME, None, at(300))
        results = await tx.reruns.results()
        before = await tx.histories.before(2, 30)
    task = task_id(0, PYTHON)
    assert results == (
        RerunResult("0000000000000000-000-00", A, PYTHON, "rerun_fail", "0", task),
        RerunResult("0000000000000000-000-01", B, PYTHON, "rerun_pass", "0", task),
    )
    assert [before[hotkey, PYTHON].failures for hotkey in (A, B)] == [0, 0]
    async with store.begin() as tx:
        await tx.reruns.enter(1, results, [StruckEntry(A, PYTHON, "0", task)])
    with pytest.raises(MismatchError):
        async with store.begin() as tx:
            await tx.reruns.enter(1, results[:1], [])
    async with store.read() as tx:
        assert await tx.reruns.results() == ()
        assert [(one.key.hotkey, one.struck) for one in await tx.reruns.entered_in(1)] == [(A, 1.25), (B, None)]
        assert [entry.value for entry in await tx.windows.of_round(0)] == [0.0, 1.25]
        after, counted = await tx.histories.before(2, 30), await tx.histories.failures(2, 30)
        assert [after[hotkey, PYTHON].failures for hotkey in (A, B)] == [1, 0]
        assert [counted[hotkey, PYTHON] for hotkey in (A, B)] == [(2, 1), (2, 0)]
        assert (await tx.histories.before(31, 30))[A, PYTHON].failures == 0  # round 0 is too long ago
        assert (await tx.histories.failures(31, 30))[A, PYTHON] == (1, 0)


async def test_an_answer_that_entered_no_window_is_struck_all_the_same(store: Store) -> None:
    """Where neither truth nor group gave a verdict (D-7)."""
    await with_reruns(store, A)
    await play_round(store, 1, {PYTHON: HOTKEYS})
    await fail(store, await take(store, at(200)))
    async with store.begin() as tx:
        await tx.reruns.enter(1, await tx.reruns.results(), [StruckEntry(A, PYTHON, "0", task_id(0, PYTHON))])
        assert [one.struck for one in await tx.reruns.entered_in(1)] == [0.0]
        assert (await tx.histories.failures(2, 30))[A, PYTHON] == (2, 1)


async def test_what_a_rerun_needs_stays_until_it_has_ended(store: Store) -> None:
    await with_reruns(store, A)
    frozen, _ = a_round(0, {PYTHON: HOTKEYS})
    bundle, other = sha("bundle", 0, PYTHON, 0), sha256_hex(b"other")
    async with store.begin() as tx:
        await tx.connection.execute(bundles.insert().values(sha256=bundle, data=b"x", stored_at=at(0)))
        await tx.bundles.put(other, b"other", at(0))
    running = await take(store, at(200))
    async with store.begin() as tx:
        pruned = await tx.retention.prune(answers_before=at(9_000), bundles_before=at(9_000))
        assert pruned == (4, 1)
        assert await tx.dispatches.answer_body(running.key) == f"answer of {A}".encode()
        assert await tx.bundles.get(bundle) == b"x"
    await fail(store, running)
    async with store.begin() as tx:
        assert await tx.retention.prune(answers_before=at(9_000), bundles_before=at(9_000)) == (1, 1)
        assert await tx.bundles.get(bundle) is None
        assert (await tx.connection.execute(select(rounds.c.round_id))).all() == [(0,)]
        assert (await tx.connection.execute(select(reruns.c.state))).all() == [("done",)]
    assert frozen.tasks[0].bundle_sha256 == bundle


async def test_newest_rounds_are_listed_first(store: Store) -> None:
    await with_reruns(store, A, B)
    await with_reruns(store, C, round_id=1)
    async with store.read() as tx:
        assert [one.key.hotkey for one in await tx.reruns.listing(2)] == [C, B]
        assert await tx.reruns.listing(9, "done") == ()
        assert await tx.reruns.get("nothing") is None
