"""Metrics from the store: time of the last settlement, newest weights, size."""

from store_examples import HOTKEYS, PYTHON, RAG, at, play_round, task_id

from sssa.protocol.reasons import Reason
from validator.store import Store
from validator.store.repositories.weight_submissions import PlannedWeights


async def test_when_a_round_was_settled_last_with_requests_and_at_all(store: Store) -> None:
    async with store.read() as tx:
        assert await tx.rounds.last_settled() is None
    await play_round(store, 0, {PYTHON: HOTKEYS})
    await play_round(store, 1, {RAG: ()}, reasons={task_id(1, RAG): Reason.SKIPPED_NO_CANDIDATES})
    async with store.begin() as tx:
        await tx.rounds.skip(2, epoch=3, block=9, block_hash="0x0", reason=Reason.SKIPPED_NO_TASKS, at=at(500))
        assert await tx.rounds.last_settled() == at(61)
        assert await tx.rounds.last_settled(1) == at(60)


async def test_the_newest_epoch_with_confirmed_weights(store: Store) -> None:
    plan = PlannedWeights({"a": 1.0}, {"a": 1.0}, 0.0, {})
    async with store.begin() as tx:
        assert await tx.weights.confirmed_epoch(7, 0) is None
        for mechid, epoch in ((0, 41), (1, 43)):
            row = await tx.weights.prepare(7, mechid, epoch, plan, at(0))
            await tx.weights.update(row.id, "confirmed", at(1))
        row = await tx.weights.prepare(7, 0, 42, plan, at(0))
        await tx.weights.update(row.id, "rejected", at(1))
        assert await tx.weights.confirmed_epoch(7, 0) == 41
        assert await tx.weights.confirmed_epoch(7, 1) == 43
        assert await tx.weights.confirmed_epoch(8, 0) is None
