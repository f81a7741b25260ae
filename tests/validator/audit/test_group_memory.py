"""Settling, replay and verification decode one group of a round at a time: more groups take no more memory."""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audit_file import export
from full_answers import FullAnswers, with_emoji
from world import VALIDATOR, World, on_virtual_time, prepared, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.scoring import CURRENT, version
from validator.audit.replay import replay_round
from validator.rounds.settle import _score, settle_round
from validator.store import open_store, record
from validator.tasks.source import MemorySource

pytestmark = pytest.mark.attack

FEW, MANY = 2, 5  # tasks of five answers each
MIB = 2**20


class Peak:
    """The most bytes that were allocated in a block beyond those before it."""

    mib = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        gc.collect()
        tracemalloc.start()
        try:
            yield
        finally:
            self.mib = tracemalloc.get_traced_memory()[1] / MIB
            tracemalloc.stop()


async def peaks(folder: Path, tasks: int) -> tuple[float, float, float]:
    settling, replaying, verifying = Peak(), Peak(), Peak()
    async with open_store(f"sqlite:///{folder}/{tasks}.sqlite", create=True) as store:
        source = MemorySource(tasks_of_all_types(each=1)[:tasks])
        world = World(store, miners=5, script=FullAnswers(20, 200, with_emoji), source=source)
        round_ = await prepared(world)
        returned = await on_virtual_time(world, world.dispatcher.dispatch(round_))
        with settling.measured():
            _score(version(CURRENT), VALIDATOR, round_.frozen, round_.plan, returned)
        assert await settle_round(store, world.clock, VALIDATOR, round_.frozen, round_.plan, returned)
        async with store.read() as tx:
            with replaying.measured():
                replay = await replay_round(tx, 0)
        assert replay is not None
        assert replay.verdict == "equal", replay.difference
        log = await export(store, folder / f"{tasks}.jsonl")
        with verifying.measured():
            assert verify_file(log).answers == 5 * tasks
    return settling.mib, replaying.mib, verifying.mib


async def test_more_groups_take_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "FRAME", MIB // 4)  # else all of them are in one
    few, many = await peaks(tmp_path, FEW), await peaks(tmp_path, MANY)
    kept = (MANY - FEW) * 5 * 0.01  # of each answer its fields, its entry of the outcome, its part of the proof
    for before, after in zip(few, many, strict=True):
        assert after - before < 2 + kept, (few, many)
