"""Runs next to each other in one engine: what one of them changes while another waits for the engine."""

import asyncio

import pytest
from engine_in_memory import MemoryEngine, pinned

from sssa.sources import VirtualClock
from validator.sandbox.containers import Containers, Images, NoImageError, Owner, Run
from validator.sandbox.engine import EngineAwayError, EngineError, EngineSlowError
from validator.sandbox.interface import SandboxFailure, SandboxLimits

RUN = Run("tracer", b"", {}, SandboxLimits())


async def test_what_a_run_leaves_while_another_looks_for_leftovers_is_removed_by_the_next() -> None:
    engine = MemoryEngine()
    containers = Containers(engine, Owner("us"))
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
    assert len(engine.leftovers) == 4
    engine.broken.clear()
    looks.open.set()
    assert await second is None
    assert await containers.start() is None
    assert not engine.leftovers


@pytest.mark.parametrize("many", [2, 5])
async def test_an_image_that_several_want_at_once_is_pulled_once(many: int) -> None:
    engine = MemoryEngine()
    images = Images(engine, VirtualClock(), pull_s=1.0)
    found = await asyncio.gather(*(images.present(pinned(1)) for _ in range(many)))
    assert [one["RepoDigests"] for one in found] == [[pinned(1).pinned]] * many
    assert engine.pulls == [pinned(1).pinned]


async def test_an_image_that_cannot_be_pulled_is_asked_for_once_a_minute() -> None:
    engine, clock = MemoryEngine(), VirtualClock()
    images = Images(engine, clock, pull_s=1.0)
    engine.broken["pull"] = EngineError("manifest unknown")
    for _ in range(3):
        with pytest.raises(NoImageError, match=f"{pinned(1).digest}: manifest unknown"):
            await images.present(pinned(1))
    assert len(engine.pulls) == 1
    await clock.advance(61)
    engine.broken.clear()
    await images.present(pinned(1))
    assert len(engine.pulls) == 2


@pytest.mark.parametrize("call", ["remove_container", "remove_volume"])
async def test_what_the_engine_does_not_remove_is_set_aside_and_bars_no_run(call: str) -> None:
    """The first run leaves what cannot be removed; those after it run, and the engine is asked once more in all."""
    engine = MemoryEngine()
    containers = Containers(engine, Owner("us"))
    engine.broken[call] = EngineSlowError(f"{call}: more than 60 s")
    found = [await containers.execute(pinned(1), RUN) for _ in range(3)]
    assert [one.detail for one in found if isinstance(one, SandboxFailure)] == ["no evidence"] * 3
    asked, left = engine.calls[call], len(containers.set_aside)
    assert left > 0
    assert all("more than 60 s" in why for why in containers.set_aside.values())
    engine._containers.clear()
    engine._volumes.clear()
    containers._clean = False
    assert await containers.start() is None
    assert engine.calls[call] == asked
