"""Stalls: the times in which the validator itself stood still (SPEC 16, D-26).

A stall extends what has a limit by its length. `rounds/heartbeat.py` sees them. All moments are seconds of one
monotonic clock.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from sssa.protocol.errors import ValidatorError
from sssa.sources import Clock

BEAT_S: Final = 0.1  # between two beats of the validator's heartbeat
LEAST_STALL_S: Final = 1.0  # a beat that is so much too late is a stall
_LONG_S: Final = 10.0  # a peer may give up during a stall of so many seconds
_AFTER_S: Final = 1.0  # or so long after it: what it did then is read only now


class Stall(NamedTuple):
    """A gap between two beats that was `LEAST_STALL_S` or more too long: from the beat before it, `seconds` long."""

    start: float
    seconds: float

    @property
    def end(self) -> float:
        """The moment of the beat after it."""
        return self.start + self.seconds


def stall_between(beat: float, after: float) -> Stall | None:
    """Return the stall between two beats, or from the last one until now; None without one."""
    late = after - beat - BEAT_S
    return Stall(beat, after - beat) if late >= LEAST_STALL_S else None


def overlap(stalls: Iterable[Stall], start: float, end: float) -> float:
    """Return how many seconds from `start` to `end` are within stalls, which do not overlap each other."""
    return sum(max(0.0, min(end, stall.end) - max(start, stall.start)) for stall in stalls)


def own_seconds(measured: float, stalled: float, t_min: float) -> float:
    """Return the time of an answer that counts: the measured time without the validator's stalls.

    An answer that was not early by the clock, for its role's `t_min`, does not become early.
    """
    return max(measured - stalled, min(measured, t_min), 0.0)


StallsSince = Callable[[float], tuple[Stall, ...]]
"""Returns the stalls that ended after a moment of the monotonic clock."""


def no_stalls(_since: float) -> tuple[Stall, ...]:
    """Return none: for those without a heartbeat."""
    return ()


class StalledError(ValidatorError):
    """The other side ended an exchange while the validator stood still."""


def long_stall(stalls: StallsSince, ended: float | None) -> Stall | None:
    """Return the stall for which the other side may have ended an exchange at that moment; None for none."""
    if ended is None:
        return None
    within = (one for one in stalls(ended - _AFTER_S) if one.seconds >= _LONG_S and one.start <= ended)
    return next(within, None)


@asynccontextmanager
async def own_time(seconds: float, stalls: StallsSince, began: float) -> AsyncIterator[None]:
    """Raise TimeoutError in the block once so many seconds have passed since `began`, without those of stalls."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        due, now = began + seconds + overlap(stalls(began), began, loop.time()), loop.time()
        if due > now:
            timer = loop.call_at(due, look)
        else:
            limit.reschedule(now)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_at(began + seconds, look)
        try:
            yield
        finally:
            timer.cancel()


@dataclass(frozen=True, slots=True)
class OwnClock:
    """A clock without the validator's stalls."""

    clock: Clock
    stalls: StallsSince
    began: float

    def now(self) -> datetime:
        """Return the UTC time, stalls included."""
        return self.clock.now()

    def monotonic(self) -> float:
        """Return seconds without those of stalls since `began`."""
        now = self.clock.monotonic()
        return now - overlap(self.stalls(self.began), self.began, now)

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds of this clock."""
        while True:
            began = self.clock.monotonic()
            await self.clock.sleep(seconds)
            seconds = overlap(self.stalls(began), began, self.clock.monotonic())
            if not seconds:
                return
