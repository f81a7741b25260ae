"""Permanent bytes of answers at their limits are bounded and readable (D-44)."""

import pytest
from full_answers import SHAPES, FullAnswers
from replays import replayed
from world import VALIDATOR, World, honest, on_virtual_time

from sssa.proofs.document import verify_document
from sssa.protocol.limits import MIB
from validator.store import Store
from validator.store.codec import compressed
from validator.store.size import table_sizes

pytestmark = pytest.mark.attack

_OF_A_ROUND = 16 * MIB  # of 60 answers
_PASSING = ("answers", "bundles")


async def kept(store: Store) -> int:
    async with store.read() as tx:
        return sum(one.bytes for one in await table_sizes(tx.connection) if one.name not in _PASSING)


async def test_ten_answers_at_their_limits_keep_a_sixth_of_16_mib(store: Store) -> None:
    world = World(store, miners=5)
    await on_virtual_time(world, world.service.one_round())  # tables that have a row get their first pages
    world.script = SHAPES["512 findings of marks in every fifth place"]
    before = await kept(store)
    outcome = (await on_virtual_time(world, world.service.one_round())).outcome
    assert outcome is not None
    assert [group.n_valid for group in outcome.groups] == [5, 5]
    assert await kept(store) - before <= _OF_A_ROUND / 6
    assert (await replayed(store, 1)).verdict == "equal"


async def test_bytes_that_answers_keep_are_counted_by_registered_hotkey(store: Store) -> None:
    world = World(store, miners=5, script=FullAnswers())
    await on_virtual_time(world, world.service.one_round())

    async def bytes_of(newest: int) -> dict[str, int]:
        async with store.read() as tx:
            return await tx.dispatches.kept_bytes(newest)

    first = await bytes_of(1)
    assert list(first.values()) == sorted(first.values(), reverse=True)
    assert first.keys() == world.signers.keys()
    async with store.read() as tx:
        signed = [document async for group in tx.records.groups(0) for document in group.signed]
    assert sum(first.values()) == sum(map(len, map(compressed, signed)))

    world.script = honest
    gone = next(iter(first))
    world.subnet.deregister(gone)
    await on_virtual_time(world, world.service.one_round())
    both, second = await bytes_of(2), await bytes_of(1)
    assert gone not in both
    assert {hotkey: both[hotkey] - second[hotkey] for hotkey in both} == {h: n for h, n in first.items() if h != gone}
    assert max(second.values()) < min(first.values()) / 10


async def test_a_large_proof_is_read_as_it_was_signed(store: Store) -> None:
    world = World(store, miners=5, script=FullAnswers(60, 200))
    await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        found = [await tx.proofs.of_task(task.task_id) for task in await tx.tasks.of_round(0)]
    documents = [one.document for one in found if one is not None]
    assert [len(one) > MIB for one in documents] == [True, True]
    assert [verify_document(one, VALIDATOR.hotkey).proof.metadata["n_valid"] for one in documents] == [5, 5]
    assert (await replayed(store)).verdict == "equal"
