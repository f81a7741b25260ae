"""A cancellation that meets the last write of a round waits for it: complete, and reported once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from world import VALIDATOR, World, on_virtual_time, online, prepared

from sssa.protocol.reasons import Reason
from validator.rounds.dispatch import Dispatcher
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.rounds.resume import resume_rounds
from validator.rounds.settle import Returned
from validator.store import Store
from validator.store.errors import AlreadySettledError
from validator.store.rows import StoredRound


@dataclass
class Busy:
    """A write transaction of somebody else's, open until `release`: the next write waits."""

    store: Store
    held: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    settles: bool = False

    async def hold(self) -> None:
        async with self.store.begin() as tx:
            if self.settles:
                await tx.rounds.settle(0, "void", Reason.BUG_CRASH, None, datetime.now(UTC))
            self.held.set()
            await self.release.wait()


@asynccontextmanager
async def busy(store: Store) -> AsyncIterator[Busy]:
    other = Busy(store)
    holding = asyncio.create_task(other.hold())
    await other.held.wait()
    try:
        yield other
    finally:
        other.release.set()
        await holding


@dataclass
class ThenBusy:
    """A dispatcher after whose answers the store is kept busy."""

    dispatcher: Dispatcher
    other: Busy

    async def dispatch(self, round_: Prepared) -> Returned:
        returned = await self.dispatcher.dispatch(round_)
        self.holding = asyncio.create_task(self.other.hold())
        await self.other.held.wait()
        return returned


@dataclass
class Ends:
    reasons: list[str] = field(default_factory=list)

    def started(self, prepared: Prepared) -> None:
        pass

    def ended(self, end: EndedRound) -> None:
        self.reasons.append(end.reason)


async def writes_wait(store: Store) -> None:
    while not store._turn._waiters:  # noqa: ASYNC110 - a lock has no event for who queues
        await asyncio.sleep(0.001)


async def cancelled_while_it_waits(task: asyncio.Task[Any], other: Busy) -> asyncio.CancelledError:
    """Cancel the task, twice, while its write queues; then let the write through."""
    await writes_wait(other.store)
    for _ in range(2):
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    assert not task.done()
    other.release.set()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    return raised.value


async def round_zero(store: Store) -> StoredRound:
    async with store.read() as tx:
        stored = await tx.rounds.get(0)
    assert stored is not None
    return stored


async def advance_until(world: World, condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)
        await world.clock.advance(0.5)


async def test_a_settling_on_its_way_is_complete_and_reported_once_when_the_cancellation_surfaces(store: Store) -> None:
    world, other, ends = World(store), Busy(store), Ends()
    world.service.dispatcher = ThenBusy(world.dispatcher, other)  # type: ignore[assignment]
    world.service.listeners = (ends,)
    with structlog.testing.capture_logs() as log:
        task = asyncio.create_task(world.service.run())
        await advance_until(world, other.held.is_set)
        await cancelled_while_it_waits(task, other)
        stored = await round_zero(store)
        lines = [line["event"] for line in log if line["event"] in ("round_settled", "round_ended", "round_failed")]
    assert (stored.record.state, lines, ends.reasons) == ("settled", ["round_settled"], [Reason.SETTLED])
    assert not world.service.in_hand


async def test_a_round_that_is_cancelled_before_it_settles_is_still_in_hand(store: Store) -> None:
    world = World(store)
    task = asyncio.create_task(world.service.run())
    await advance_until(world, lambda: world.posts > 0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await round_zero(store)).record.state == "open"
    assert world.service.in_hand


async def test_a_settling_that_fails_under_a_cancellation_is_said_and_the_loop_ends(store: Store) -> None:
    world, other = World(store), Busy(store, settles=True)
    world.service.dispatcher = ThenBusy(world.dispatcher, other)  # type: ignore[assignment]
    with structlog.testing.capture_logs() as log:
        task = asyncio.create_task(world.service.run())
        await advance_until(world, other.held.is_set)
        error = await cancelled_while_it_waits(task, other)
    assert isinstance(error.__cause__, AlreadySettledError)
    assert [line["event"] for line in log].count("round_failed") == 1


async def test_a_resumed_round_is_settled_before_the_cancellation_goes_on(store: Store) -> None:
    world = World(store)
    await on_virtual_time(world, world.dispatcher.dispatch(await prepared(world)))
    with structlog.testing.capture_logs() as log:
        async with busy(store) as other:
            task = asyncio.create_task(resume_rounds(store, world.clock, VALIDATOR, world.gates, online))
            await cancelled_while_it_waits(task, other)
        assert (await round_zero(store)).record.state == "settled"
    assert [line["event"] for line in log] == ["round_resumed"]
