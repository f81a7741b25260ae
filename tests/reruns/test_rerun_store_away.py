"""A database that is away for a moment leaves no rerun running that nobody makes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NoReturn

import pytest
from rerun_world import ended, honest_image, until, world_of
from world import World, one_round

from validator.queue.embedded import EmbeddedWorker
from validator.reruns.sandbox.scripted import ScriptedSandbox
from validator.reruns.work import RerunWork
from validator.store import Store, open_store
from validator.store.errors import StoreAwayError
from validator.workers.interface import Here


@asynccontextmanager
async def working(world: World, worker: Store, tries: Store) -> AsyncIterator[None]:
    """A worker and its tries, each on a store of its own."""
    work = RerunWork(tries, ScriptedSandbox(honest_image, world.clock), Here(), world.board)
    task = asyncio.create_task(EmbeddedWorker(worker, world.clock, (work,)).run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def away_once(patch: pytest.MonkeyPatch, store: Store) -> Callable[[], bool]:
    """Let the next read find the database away; return what tells whether it came."""
    read, met = store.read, []

    def away() -> NoReturn:
        patch.setattr(store, "read", read)
        met.append(True)
        raise StoreAwayError("away")

    patch.setattr(store, "read", away)
    return lambda: bool(met)


async def test_a_try_that_cannot_read_what_it_needs_is_handed_back(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(store)
    await one_round(world)
    async with open_store(store_url) as other:
        met = away_once(monkeypatch, other)
        async with working(world, store, other):
            found = await until(world, ended)
    assert met()
    assert [(one.event, one.attempts) for one in found] == [("rerun_pass", 1)] * 2


async def test_what_a_crash_left_running_is_taken_back_once_the_database_is_there(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(store)
    await one_round(world)
    async with store.begin() as tx:
        assert await tx.reruns.take(world.clock.now()) is not None
    async with open_store(store_url) as other:
        met = away_once(monkeypatch, other)
        async with working(world, other, store):
            found = await until(world, ended)
    assert met()
    assert [one.event for one in found] == ["rerun_pass"] * 2
