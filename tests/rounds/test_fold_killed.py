"""kill -9 between a round's settling and its folding: the round is whole as it is, and folded later."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import world
from replays import replayed
from sqlalchemy import func, select

from validator.store import open_store
from validator.store.fold import fold_ended
from validator.store.tables import folded_rounds, scores

pytestmark = pytest.mark.attack

KILLED = """
import asyncio, os, signal, sys
sys.path.insert(0, sys.argv[2])
from world import World, on_virtual_time
from validator.rounds import service
from validator.store import open_store

fold = service.fold_round

async def killed(tx, round_id):
    if sys.argv[3] == "uncommitted":
        assert await fold(tx, round_id)
    os.kill(os.getpid(), signal.SIGKILL)

async def one_round():
    async with open_store(sys.argv[1]) as store:
        world = World(store, folds=True)
        await on_virtual_time(world, world.service.one_round())

service.fold_round = killed
asyncio.run(one_round())
"""


@pytest.mark.parametrize("place", ["before", "uncommitted"])
async def test_a_round_whose_folding_was_killed_is_whole_and_folded_later(place: str, sqlite_url: str) -> None:
    life = (sys.executable, "-c", KILLED, sqlite_url, str(Path(world.__file__).parent), place)
    process = await asyncio.create_subprocess_exec(*life, stderr=subprocess.PIPE)
    _, said = await process.communicate()
    assert process.returncode == -signal.SIGKILL, said
    counts = [select(func.count()).select_from(table) for table in (folded_rounds, scores)]
    async with open_store(sqlite_url) as store:
        async with store.read() as tx:
            record = await tx.rounds.record(0)
            folded, left = [await tx.connection.scalar(count) for count in counts]
        assert record is not None
        assert (record.state, folded) == ("settled", 0)
        assert left
        before = await replayed(store, 0)
        assert before.verdict == "equal"
        assert await fold_ended(store) == 1
        async with store.read() as tx:
            assert [await tx.connection.scalar(count) for count in counts] == [1, 0]
        assert await replayed(store, 0) == before
