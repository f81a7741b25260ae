"""Rounds leave no growing memory."""

import logging
from collections.abc import Iterator
from itertools import pairwise

import pytest
from alive import blocks_alive
from world import World, one_round, tasks_of_all_types

from validator.store import Store
from validator.tasks.source import MemorySource

WARM, MORE = 4, 6
MOST = 100  # blocks; one object kept of each dispatch would be a hundred and eighty, every time


@pytest.fixture(autouse=True)
def unlogged() -> Iterator[None]:
    """Pytest keeps every record of a log, where an earlier test has led it through the standard library's."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


async def after(world: World, many: int) -> int:
    """Return the number of live blocks after this many more rounds."""
    for _ in range(many):
        await one_round(world)
    return await blocks_alive()


@pytest.mark.attack
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_more_rounds_leave_no_more_alive_than_those_before(store: Store) -> None:
    world = World(store, source=MemorySource(tasks_of_all_types(each=1)))
    counts = [await after(world, many) for many in (WARM, MORE, MORE, MORE, MORE)]
    # What is made once, late, is in some of the steps; what is kept of every round is in each.
    assert min(later - before for before, later in pairwise(counts)) <= MOST
    assert world.posts > MOST * 2
