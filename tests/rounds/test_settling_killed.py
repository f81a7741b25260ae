"""kill -9 between what settling writes: the round is open and whole, or ended with its record; never in between."""

import asyncio
import os
import signal
from typing import Any

import pytest
from fork_start import FORKS
from replays import replayed
from sqlalchemy import func, select
from world import VALIDATOR, World, on_virtual_time, online

from validator.rounds import settle
from validator.rounds.resume import resume_rounds
from validator.store import open_store
from validator.store.checking import checks
from validator.store.repositories.records import Records
from validator.store.repositories.rounds import Rounds
from validator.store.repositories.state import States
from validator.store.tables import records, sssas, state_miners, state_shared

pytestmark = pytest.mark.attack


def kill(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def then_kill(of: Any, name: str) -> None:
    before = getattr(of, name)

    async def killed(*given: Any, **named: Any) -> None:
        await before(*given, **named)
        kill()

    setattr(of, name, killed)


def life(url: str, place: str) -> None:
    """Play a round until the place in its own process, and die there."""
    match place:
        case "before the record is made":
            setattr(settle, "recorded", kill)  # noqa: B010 - mypy lets no function be assigned
        case "behind the record":
            then_kill(Records, "put")
        case "behind the open rows":
            then_kill(Rounds, "settle")
        case "behind the state":
            then_kill(States, "write")
        case "before the commit":
            then_kill(settle, "write_receipt")

    async def one_round() -> None:
        async with open_store(url) as store:
            world = World(store)
            await on_virtual_time(world, world.service.one_round())
            kill()

    asyncio.run(one_round())


OPEN = (
    "before the record is made",
    "behind the record",
    "behind the open rows",
    "behind the state",
    "before the commit",
)


@pytest.mark.parametrize("place", [*OPEN, "behind the commit"])
async def test_a_settling_that_was_killed_is_done_whole_or_not_at_all(place: str, store_url: str) -> None:
    process = FORKS.Process(target=life, args=(store_url, place))
    process.start()
    await asyncio.to_thread(process.join, 60)
    assert process.exitcode == -signal.SIGKILL
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
        assert (replay.state, replay.verdict, replay.difference) == ("settled", "equal", None)
