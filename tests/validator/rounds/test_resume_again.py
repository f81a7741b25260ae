"""A resume that fails is over: the next one finds nobody else at the round."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest
from world import VALIDATOR, World, on_virtual_time, online, prepared

from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.resume import resume_rounds
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.workers.interface import Here, Whose

T = TypeVar("T")


class Failing(Here):
    """The fourth answer meets a database that is away; the three before it would be judged for ever."""

    def __init__(self) -> None:
        self.begun = 0
        self.open = 0

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:
        self.begun += 1
        if self.begun == 4:
            raise StoreAwayError("away")
        self.open += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.open -= 1
        raise AssertionError("nobody wakes it")


async def test_a_resume_that_fails_leaves_nobody_judging(store: Store) -> None:
    world, workers = World(store), Failing()
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    with pytest.raises(StoreAwayError):
        await resume_rounds(store, world.clock, VALIDATOR, Gatekeeper(workers, store), online)
    assert (workers.begun, workers.open) == (4, 0)
    assert await resume_rounds(store, world.clock, VALIDATOR, world.gates, online) == ["0"]
