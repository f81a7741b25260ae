"""kill -9 between what settling writes: the round is open and whole, or ended with its record; never in between."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import world
from replays import replayed
from sqlalchemy import func, select
from world import VALIDATOR, World, online

from validator.rounds.resume import resume_rounds
from validator.store import open_store
from validator.store.checking import checks
from validator.store.tables import records, sssas, state_miners, state_shared

pytestmark = pytest.mark.attack

KILLED = """
import asyncio, os, signal, sys
sys.path.insert(0, sys.argv[2])
from world import World, on_virtual_time
from validator.rounds import settle
from validator.store import open_store
from validator.store.repositories.records import Records
from validator.store.repositories.rounds import Rounds
from validator.store.repositories.state import States

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def then_kill(of, name):
    before = getattr(of, name)

    async def killed(*given, **named):
        await before(*given, **named)
        kill()

    setattr(of, name, killed)

match sys.argv[3]:
    case "before the record is made":
        settle.recorded = kill
    case "behind the record":
        then_kill(Records, "put")
    case "behind the open rows":
        then_kill(Rounds, "settle")
    case "behind the state":
        then_kill(States, "write")
    case "before the commit":
        then_kill(settle, "write_receipt")

async def one_round():
    async with open_store(sys.argv[1]) as store:
        world = World(store)
        await on_virtual_time(world, world.service.one_round())
        kill()

asyncio.run(one_round())
"""
OPEN = (
    "before the record is made",
    "behind the record",
    "behind the open rows",
    "behind the state",
    "before the commit",
)


@pytest.mark.parametrize("place", [*OPEN, "behind the commit"])
async def test_a_settling_that_was_killed_is_done_whole_or_not_at_all(place: str, store_url: str) -> None:
    life = (sys.executable, "-c", KILLED, store_url, str(Path(world.__file__).parent), place)
    process = await asyncio.create_subprocess_exec(*life, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, said = await process.communicate()
    assert process.returncode == -signal.SIGKILL, said
    counts = [select(func.count()).select_from(table) for table in (records, sssas, state_miners, state_shared)]
    async with open_store(store_url) as store:
        async with store.read() as tx:
            found = await tx.rounds.record(0)
            many = [int(await tx.connection.scalar(count) or 0) for count in counts]
        assert found is not None
        if place in OPEN:
            assert (found.state, many) == ("open", [0, 10, 0, 0])
            again = World(store)
            assert await resume_rounds(store, again.clock, VALIDATOR, again.gates, online) == ["0"]
        async with store.read() as tx:
            many = [int(await tx.connection.scalar(count) or 0) for count in counts]
            faults = [fault async for check in checks(tx) for fault in check.faults]
        assert many == [1, 0, 6, 1]
        assert faults == []
        replay = await replayed(store, 0)
        assert (replay.state, replay.verdict, replay.differences) == ("settled", "equal", ())
