"""Attribution of a failure to answer: to the miner, or to the validator itself (SPEC 16, D-26).

Nothing that a miner does decides it. Stalls are the validator's own clock's; what ran out, this machine's. A miner that
cannot be reached looks as if the validator had no network: that takes the silence of everybody else and an endpoint of
the validator's own, of chain or task source, that fails when it is asked then. What a peer says, or does not say in
time, is its own failure: a stall moves deadlines.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.chain.interface import Chain, ChainError
from validator.outgoing.calls import Reply
from validator.outgoing.stalls import StallsSince, long_stall, overlap, own_seconds
from validator.tasks.source import TaskSource

NO_HEAD_S: Final = 60.0

HeadAge = Callable[[], float | None]
"""Returns for how many seconds the chain's endpoint has shown no new head; None before the first."""

NetworkAway = Callable[[], Coroutine[Any, Any, bool]]
"""Returns whether the chain's endpoint or the task source fails; see `network_away`."""


async def network_away(chain: Chain | None, source: TaskSource, head_age: HeadAge) -> bool:
    """Return whether the chain's endpoint or the task source fails now: without a new head for 60 s it does.

    `chain` is None where its endpoint is on this machine: that it answers tells nothing of the network.
    """
    if (head_age() or 0.0) >= NO_HEAD_S or not await source.reachable():
        return True
    if chain is None:
        return False
    try:
        await chain.head()
    except ChainError:
        return True
    return False


async def network_away_here(source: TaskSource, head_age: HeadAge, clock: Clock) -> bool:
    """Return `network_away` for an endpoint on this machine, once it has shown a new head, or none for 60 s."""
    age = head_age()
    while not (away := await network_away(None, source, head_age)) and age is not None:
        await clock.sleep(1.0)
        before, age = age, head_age()
        if age is None or age < before:
            return False
    return away


async def network_there() -> bool:
    """Return that nothing is away: for those who have nothing to ask."""
    return False


@dataclass(slots=True)
class Attribution:
    """One round's knowledge of its failures; `away` is asked at most once."""

    stalls: StallsSince
    away: NetworkAway
    _heard: list[tuple[float, float]] = field(default_factory=list)
    _network_check: "asyncio.Task[bool] | None" = None

    def note(self, reply: Reply) -> None:
        """Note when bytes of a response arrived, whatever the result."""
        if reply.heard is not None:
            self._heard.append(reply.heard)

    def own_time(self, reply: Reply, t_min: float) -> tuple[float, float]:
        """Return the seconds of an answer that count, and those that were measured while the validator stood still."""
        if reply.sending is None or reply.seconds is None:
            raise ValueError("an answer was sent for and took its time")
        stalled = overlap(self.stalls(reply.sending), reply.sending, reply.sending + reply.seconds)
        return own_seconds(reply.seconds, stalled, t_min), stalled

    def stalled(self, reply: Reply) -> str | None:
        """Return what to say of an exchange that the other side ended for a long stall; None for every other one."""
        stall = long_stall(self.stalls, reply.ended)
        if stall is None:
            return None
        return printable(f"ended during {stall.seconds:.1f} s in which the validator stood still: {reply.detail}")

    async def may_be_cut_off(self, reply: Reply, deadline_s: float) -> bool:
        """Return whether the validator may have lost its network; other responses until the deadline decide."""
        if not self.cut_off(reply, deadline_s):
            return False
        if self._network_check is None:
            self._network_check = asyncio.ensure_future(self.away())
        return await self._network_check

    def cut_off(self, reply: Reply, deadline_s: float) -> bool:
        """Return whether there was no route, and no dispatch received a byte between sending and deadline."""
        if reply.sending is None or not reply.no_route:
            return False
        until = reply.sending + deadline_s
        return not any(first <= until and newest >= reply.sending for first, newest in self._heard)
