"""Rounds that wait until nothing is left to run again."""

import asyncio

from waiting_world import RUNS, plain_world
from world import World, on_virtual_time, tasks_of_all_types

from localnet.executions.local_engine import PatientSource, all_run_again
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType
from sssa.protocol.waiting_work import Executed
from validator.store import Store
from validator.tasks.source import MemorySource

PYTHON = SkillType.EXECUTABLE_PYTHON


async def waiting_world(store: Store) -> World:
    """A world whose first round left two tasks to be executed."""
    world = plain_world(store)
    assert (await on_virtual_time(world, world.service.one_round())).outcome is not None
    return world


async def test_it_is_over_when_the_last_one_has_ended(store: Store) -> None:
    world = await waiting_world(store)
    waiting = asyncio.ensure_future(all_run_again(store, world.clock))
    for left in (2, 1):
        async with store.begin() as tx:
            assert await tx.executions.unended() == left
            taken = await tx.executions.take(world.clock.now())
            assert taken is not None
        await world.clock.advance(1.0)
        assert not waiting.done()
        async with store.begin() as tx:
            assert await tx.executions.end(
                taken, "done", Reason.EXECUTION_COMPARED, world.clock.now(), "", Executed(RUNS, ())
            )
    await on_virtual_time(world, asyncio.wait_for(waiting, None))


async def test_an_engine_that_fails_stops_no_round_for_ever(store: Store) -> None:
    world = await waiting_world(store)
    began = world.clock.monotonic()
    await on_virtual_time(world, all_run_again(store, world.clock, 6.0))
    assert 6.0 <= world.clock.monotonic() - began < 12.0
    async with store.read() as tx:
        assert await tx.executions.unended() == 2


async def test_a_patient_source_gives_nothing_out_before(store: Store) -> None:
    tasks = [task for task in tasks_of_all_types() if task.task.skill_type is PYTHON]
    held, asked = asyncio.Event(), asyncio.Event()

    async def ready() -> None:
        asked.set()
        await held.wait()

    world = World(store, miners=1, source=PatientSource(MemorySource(tasks), ready))
    running = asyncio.ensure_future(on_virtual_time(world, world.service.one_round()))
    await asked.wait()
    assert (running.done(), world.posts) == (False, 0)
    held.set()
    outcome = (await running).outcome
    assert outcome is not None
    assert len(outcome.groups) == 2
    assert await world.source.reachable()
    await world.source.close()
