import pytest
from sqlalchemy import func, select
from store_examples import HOTKEYS, PYTHON, RAG, answer_all, at, open_round, play_round, sha

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.dispatch_record import DispatchKey
from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundPlan
from validator.store import Store
from validator.store.pruning import prune
from validator.store.repositories import operations
from validator.store.rows import EndState, Pruned
from validator.store.tables import answers, bundles

LATER = at(10_000)


def _key(plan: RoundPlan, member: int = 0) -> DispatchKey:
    return DispatchKey(int(plan.round_id), plan.groups[0].task_id, HOTKEYS[member])


async def test_bodies_of_ended_rounds_go_and_attestations_stay(store: Store) -> None:
    ended = await play_round(store, 0, {PYTHON: HOTKEYS})
    _, running = await open_round(store, 1, {PYTHON: HOTKEYS})
    await answer_all(store, running)
    async with store.begin() as tx:
        before = await tx.submissions.results(0)
        assert await tx.retention.prune(answers_before=LATER) == Pruned(answers=5, bundles=0)
        assert await tx.retention.prune(answers_before=LATER) == Pruned(answers=0, bundles=0)
    async with store.read() as tx:
        assert await tx.dispatches.answer_body(_key(ended)) is None
        assert await tx.dispatches.answer_body(_key(running)) == b"answer of miner-a"
        assert (await tx.dispatches.of_round(0))[0].body_bytes == len(b"answer of miner-a")
        assert await tx.submissions.results(0) == before


async def test_large_bodies_go_in_transactions_of_their_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await play_round(store, 0, {PYTHON: HOTKEYS})
    monkeypatch.setattr(operations, "MOST", 0)
    async with store.begin() as tx:
        assert (await tx.retention.prune(answers_before=LATER)).answers == 1
    assert await prune(store, answers_before=LATER, bundles_before=LATER) == Pruned(len(HOTKEYS) - 1, 0)
    async with store.read() as tx:
        assert await tx.connection.scalar(select(func.count()).select_from(answers)) == 0


async def test_every_way_of_ending_a_round_frees_its_bodies(store: Store) -> None:
    endings: list[tuple[EndState, Reason]] = [("void", Reason.VOID_OFFLINE), ("abandoned", Reason.ABANDONED_INPUT)]
    for round_id, (state, reason) in enumerate(endings):
        _, plan = await open_round(store, round_id, {PYTHON: HOTKEYS[:1]})
        await answer_all(store, plan)
        async with store.begin() as tx:
            await tx.rounds.settle(round_id, state, reason, None, at(99))
    async with store.begin() as tx:
        assert (await tx.retention.prune(answers_before=LATER)).answers == 2


async def test_only_what_is_older_goes(store: Store) -> None:
    old = await play_round(store, 0, {PYTHON: HOTKEYS[:1]})  # its body was stored at second 12
    new = await play_round(store, 1, {PYTHON: HOTKEYS[:1]})  # and this one's at second 13
    async with store.begin() as tx:
        assert (await tx.retention.prune(answers_before=at(12))).answers == 0
        assert (await tx.retention.prune(answers_before=at(13))).answers == 1
        assert await tx.dispatches.answer_body(_key(old)) is None
        assert await tx.dispatches.answer_body(_key(new)) is not None


async def test_nothing_goes_when_nothing_is_asked_for(store: Store) -> None:
    await play_round(store, 0)
    async with store.begin() as tx:
        await tx.bundles.put(sha256_hex(b"x"), b"x", at(0))
        assert await tx.retention.prune() == Pruned(0, 0)


async def test_a_transaction_removes_a_bounded_number(store: Store) -> None:
    await play_round(store, 0, {PYTHON: HOTKEYS, RAG: HOTKEYS})
    counts = []
    for _ in range(5):
        async with store.begin() as tx:
            counts.append((await tx.retention.prune(answers_before=LATER, limit=4)).answers)
    assert counts == [4, 4, 2, 0, 0]
    async with store.read() as tx:
        assert (await tx.connection.execute(select(func.count()).select_from(answers))).scalar() == 0


async def test_bundles_in_use_stay(store: Store) -> None:
    async with store.begin() as tx:
        rows = [sha("bundle", round_id, PYTHON, 0) for round_id in (0, 1)] + [sha("bundle of no task")]
        await tx.connection.execute(bundles.insert(), [{"sha256": r, "data": b"", "stored_at": at(0)} for r in rows])
    await play_round(store, 0, {PYTHON: HOTKEYS})
    await open_round(store, 1, {PYTHON: HOTKEYS})
    async with store.begin() as tx:
        assert (await tx.retention.prune(bundles_before=at(0))).bundles == 0
        assert (await tx.retention.prune(bundles_before=at(1), limit=1)).bundles == 1
        assert (await tx.retention.prune(bundles_before=at(1))).bundles == 1
        assert [await tx.bundles.get(row) for row in rows] == [None, b"", None]
