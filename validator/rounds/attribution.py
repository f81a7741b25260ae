"""Attribution of a failure to answer: to the miner, or to the validator itself (SPEC 16, D-26).

Nothing that a miner does decides it. Stalls are the validator's own clock's; what ran out, this machine's. A miner that
cannot be reached looks as if the validator had no network: that takes the silence of everybody else and an endpoint of
the validator's own, of chain or task source, that fails when it is asked then.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from validator.chain.base import Chain, ChainError
from validator.outgoing.calls import Reply
from validator.protocol.text import printable
from validator.rounds.stalls import Stall, overlap, own_seconds
from validator.tasks.source import TaskSource


async def network_away(chain: Chain | None, source: TaskSource) -> bool:
    """Return whether the chain's endpoint or the task source cannot be reached now.

    `chain` is None where its endpoint is on this machine: that it answers or not tells nothing of the network.
    """
    if not await source.reachable():
        return True
    if chain is None:
        return False
    try:
        await chain.head()
    except ChainError:
        return True
    return False


StallsSince = Callable[[float], tuple[Stall, ...]]
"""Returns the stalls that ended after a moment of the monotonic clock."""

NetworkAway = Callable[[], Coroutine[Any, Any, bool]]
"""Returns whether the chain's endpoint, unless it is on this machine, or the task source cannot be reached now."""


def no_stalls(_since: float) -> tuple[Stall, ...]:
    """Return none: for those without a heartbeat."""
    return ()


async def network_there() -> bool:
    """Return that nothing is away: for those who have nothing to ask."""
    return False


@dataclass(slots=True)
class Attribution:
    """One round's knowledge of its failures; `away` is asked at most once."""

    stalls: StallsSince
    away: NetworkAway
    _heard: list[tuple[float, float]] = field(default_factory=list)
    _asked: "asyncio.Task[bool] | None" = None

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

    def stalled(self, reply: Reply, deadline_s: float) -> str | None:
        """Return what to say of a failure at gate 1 with a stall between sending and deadline; None without one."""
        if reply.sending is None or reply.reason is None or reply.reason.gate != 1:
            return None
        seconds = overlap(self.stalls(reply.sending), reply.sending, reply.sending + deadline_s)
        if not seconds:
            return None
        return printable(f"for {seconds:.1f} s of the time to answer; it ended as {reply.reason}: {reply.detail}")

    async def may_be_cut_off(self, reply: Reply, deadline_s: float) -> bool:
        """Return whether the validator may have lost its network; other responses until the deadline decide."""
        if not self.cut_off(reply, deadline_s):
            return False
        if self._asked is None:
            self._asked = asyncio.ensure_future(self.away())
        return await self._asked

    def cut_off(self, reply: Reply, deadline_s: float) -> bool:
        """Return whether there was no route, and no dispatch received a byte between sending and deadline."""
        if reply.sending is None or not reply.no_route:
            return False
        until = reply.sending + deadline_s
        return not any(first <= until and newest >= reply.sending for first, newest in self._heard)
