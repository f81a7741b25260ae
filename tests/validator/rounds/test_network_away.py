"""The validator's own endpoints as witnesses of its network; a node without new heads is none (D-6, D-26)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from world import World, on_virtual_time, tasks_of_all_types

from localnet.chain.simulated import SimulatedChain
from sssa.protocol.reasons import Reason
from sssa.sources import VirtualClock
from validator.chain.interface import ChainUnreachableError, Head
from validator.miners.scripted import ScriptedReply
from validator.rounds.attribution import network_away, network_away_here
from validator.store import Store
from validator.tasks.source import MemorySource


class Source(MemorySource):
    def __init__(self, *, there: bool) -> None:
        super().__init__([])
        self.there = there

    async def reachable(self) -> bool:
        return self.there


class Node(SimulatedChain):
    """A node that answers, or not."""

    def __init__(self, *, there: bool) -> None:
        self.there = there

    async def head(self) -> Head:
        if not self.there:
            raise ChainUnreachableError("no route")
        return Head(1, "", 0, 0)


@pytest.mark.parametrize(
    ("node", "source", "age", "away"),
    [
        (True, True, 5.0, False),
        (True, True, None, False),  # none was seen yet
        (True, True, 59.9, False),
        (True, True, 60.0, True),
        (False, True, 5.0, True),
        (True, False, 5.0, True),
        (None, True, 5.0, False),  # on this machine: that it answers or not says nothing
        (None, True, 60.0, True),
        (None, False, 5.0, True),
    ],
)
async def test_an_endpoint_fails_that_does_not_answer_or_shows_no_new_head(
    node: bool | None, source: bool, age: float | None, away: bool
) -> None:
    chain = None if node is None else Node(there=node)
    assert await network_away(chain, Source(there=source), lambda: age) == away


@pytest.mark.parametrize(
    ("heads", "away", "after"),
    [
        ((0.0, 12.0), False, 12.0),
        ((0.0,), True, 60.0),
        ((0.0, 70.0), True, 60.0),
        ((), False, 0.0),
    ],
)
async def test_a_node_on_this_machine_is_waited_for(heads: Sequence[float], away: bool, after: float) -> None:
    """Until it shows a new head, which comes from elsewhere, or none for 60 s; `heads` come after so many seconds."""
    clock = VirtualClock()

    def age() -> float | None:
        return min((clock.monotonic() - head for head in heads if head <= clock.monotonic()), default=None)

    waited = asyncio.ensure_future(network_away_here(Source(there=True), age, clock))
    while not waited.done():
        await clock.advance(0.5)
    assert await waited == away
    assert after <= clock.monotonic() <= after + 2


async def test_a_round_that_nobody_answered_is_void_where_the_node_shows_no_new_head(store: Store) -> None:
    """Connections that time out look like silent miners; the node on this machine answers all the same."""
    silent = ScriptedReply(connects=False)
    world = World(store, miners=5, source=MemorySource(tasks_of_all_types()[2:3]), script=lambda *_: silent)
    away = False

    async def is_away() -> bool:
        return away

    world.service.dispatcher = replace(world.dispatcher, away=is_away)
    assert (await on_virtual_time(world, world.service.one_round())).reason == Reason.SETTLED
    away = True
    assert (await on_virtual_time(world, world.service.one_round())).reason == Reason.VOID_OFFLINE
