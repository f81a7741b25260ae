"""Runs beside each other in one engine: what one of them changes while another waits for the engine."""

import asyncio

import pytest
from engine_in_memory import MemoryEngine, pinned

from validator.reruns.sandbox.containers import Containers
from validator.reruns.sandbox.engine import EngineAwayError, EngineError
from validator.reruns.sandbox.images import Images
from validator.reruns.sandbox.job import SandboxFailure, SandboxLimits
from validator.reruns.sandbox.labels import Owner
from validator.reruns.sandbox.recipe import Run

RUN = Run(b"", {}, SandboxLimits())


async def test_what_a_run_leaves_while_another_looks_for_leftovers_is_removed_by_the_next() -> None:
    engine = MemoryEngine()
    containers = Containers(engine, Owner("us"), room=10_000)
    runs = engine.gate("ended")
    first = asyncio.create_task(containers.execute(pinned(1), RUN))
    await runs.met.wait()
    engine.broken["ended"] = EngineAwayError("for a moment")
    assert isinstance(await containers.execute(pinned(1), RUN), SandboxFailure)
    looks = engine.gate("volumes")
    second = asyncio.create_task(containers.start())
    await looks.met.wait()
    engine.broken = {"remove_container": EngineError("busy")}
    runs.open.set()
    await first
    assert len(engine.left) == 4
    engine.broken.clear()
    looks.open.set()
    assert await second is None
    assert await containers.start() is None
    assert not engine.left


async def test_an_image_that_is_being_removed_is_pulled_again_by_who_wants_it() -> None:
    engine = MemoryEngine()
    images = Images(engine, Owner("us"), room=100, pull_s=1.0)
    async with images.use(pinned(1), 1_000):
        pass
    removing = engine.gate("untag")

    async def other() -> None:
        async with images.use(pinned(2), 1_000):
            pass

    async def same() -> bool:
        async with images.use(pinned(1), 1_000) as found:
            await one
            return await engine.image(found["Id"]) is not None

    one = asyncio.create_task(other())
    await removing.met.wait()
    again = asyncio.create_task(same())
    while len(images._in_use) < 2:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0)
    removing.open.set()
    assert await again
    assert engine.pulls == [str(pinned(number).reference) for number in (1, 2, 1)]


@pytest.mark.parametrize("many", [2, 5])
async def test_an_image_that_several_want_at_once_is_pulled_once(many: int) -> None:
    engine = MemoryEngine()
    images = Images(engine, Owner("us"), room=100, pull_s=1.0)

    async def use() -> None:
        async with images.use(pinned(1), 1_000):
            await asyncio.sleep(0)

    await asyncio.gather(*(use() for _ in range(many)))
    assert len(engine.pulls) == 1
