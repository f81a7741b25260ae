"""Scoring many large answers must not stop the event loop."""

import gc
from typing import Any

import pytest
from world import World, on_virtual_time, prepared, tasks_of_all_types

from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.results import Submission
from validator.audit.export import audit_lines
from validator.rounds import settle
from validator.rounds.settle import settle_round
from validator.store import Store
from validator.tasks.source import MemorySource


async def test_garbage_is_not_searched_for_while_a_round_is_scored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types()[3:4]))
    round_ = await prepared(world)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
    searching: list[bool] = []
    score = settle._score

    def failing(*args: Any) -> Any:
        searching.append(gc.isenabled())
        raise RuntimeError("a bug")

    def noting(*args: Any) -> Any:
        searching.append(gc.isenabled())
        return score(*args)

    monkeypatch.setattr(settle, "_score", failing)
    with pytest.raises(RuntimeError, match="a bug"):
        await settle_round(store, world.clock, world.service.signer, round_.frozen, round_.plan, returned)
    assert gc.isenabled()
    monkeypatch.setattr(settle, "_score", noting)
    assert await settle_round(store, world.clock, world.service.signer, round_.frozen, round_.plan, returned)
    assert searching == [False, False]
    assert gc.isenabled()
    gc.disable()
    try:
        with settle._no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()  # what was off before stays off
    finally:
        gc.enable()


async def test_the_line_of_the_answers_leaves_out_the_attestations_and_nothing_else(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types()[3:4]))
    await on_virtual_time(world, world.service.one_round())
    async with store.read() as tx:
        results = await tx.submissions.results(0)
        receipt = await tx.receipts.of_round(0)
        assert receipt is not None
        lines = [data async for data in audit_lines(tx, receipt.sequence)]
    assert results.passed
    line = next(data for data in lines if data.startswith(b'{"answers":'))
    for submission in results.passed:
        assert isinstance(submission, Submission)
        attestation = b',"sssa":' + canonical_bytes(submission.sssa)
        whole = canonical_bytes(submission)
        assert attestation in whole
        assert whole.replace(attestation, b"") in line
        assert not gc.is_tracked(submission.sssa)
