"""From a settled round to the reputation, with real containers in between: honest work, invented traces, a digest."""

import pytest
from engine_kit import TRACED, Registry, declared, sandbox_at
from rerun_world import LIAR, inventing, world_of
from sqlalchemy import update
from world import honest, one_round

from validator.protocol.runtime_image import RuntimeImage
from validator.queue.embedded import EmbeddedWorker
from validator.reruns.work import RerunWork
from validator.sources import SystemClock
from validator.store import Store
from validator.store.rerun import Rerun
from validator.store.tables import reruns
from validator.workers.interface import Here

pytestmark = pytest.mark.engine


async def run_again(store: Store, registry: Registry, image: RuntimeImage, hotkey: str | None = None) -> list[Rerun]:
    """Run everything that waits in containers of this image; return what is known then, of a miner alone if named."""
    async with store.begin() as tx:
        await tx.connection.execute(update(reruns).values(image=image))
    sandbox = sandbox_at()
    async with store.read() as tx:
        rounds = await tx.rounds.ids()
    try:
        work = RerunWork(store, sandbox, Here(), world_of(store).board)
        worker = EmbeddedWorker(store, SystemClock(), (work,))
        while await worker.one():
            pass
    finally:
        await sandbox.close()
    async with store.read() as tx:
        found = [one for round_id in rounds for one in await tx.reruns.of_round(round_id)]
    return [one for one in found if hotkey in (None, one.key.hotkey)]


async def test_an_image_that_does_what_its_miner_claims_passes_in_a_container(store: Store, registry: Registry) -> None:
    world = world_of(store, honest, files={"main.sh": TRACED})
    await one_round(world)
    found = await run_again(store, registry, declared(await registry.image()))
    assert [(one.event, one.reason, one.attempts, one.detail) for one in found] == [
        ("rerun_pass", "rerun_same", 1, None)
    ] * 2
    await one_round(world)
    async with store.read() as tx:
        assert [record.event.kind for record in await tx.reputations.of_round(1)][:2] == ["rerun_pass"] * 2


async def test_invented_traces_are_caught_by_a_container(store: Store, registry: Registry) -> None:
    world = world_of(store, inventing, miners=2, files={"main.sh": TRACED})
    for _ in range(3):
        await one_round(world)
    found = await run_again(store, registry, declared(await registry.image()))
    assert {(one.key.hotkey == LIAR.hotkey, one.event, one.reason) for one in found} == {
        (True, "rerun_fail", "rerun_fs"),
        (False, "rerun_pass", "rerun_same"),
    }


async def test_an_image_that_only_repeats_what_it_is_told_is_caught(store: Store, registry: Registry) -> None:
    """The miner's traces show the probes, copied from the dispatch; its image does nothing."""
    await one_round(world_of(store, honest, files={"main.sh": b"true\n"}))
    found = await run_again(store, registry, declared(await registry.image()))
    assert {(one.event, one.reason) for one in found} == {("rerun_fail", "rerun_traces")}
