"""The validator's heartbeat, and stalls: the times in which the validator itself stood still (SPEC 16, D-26).

In memory; the store gets them from `dispatch.py`. All moments are seconds of one monotonic clock.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

import structlog

from validator.sources import Clock
from validator.telemetry import Event

BEAT_S: Final = 0.1  # between two beats of the validator's heartbeat
LEAST_STALL_S: Final = 1.0  # a beat that is so much too late is a stall


class Stall(NamedTuple):
    """A gap between two beats that was `LEAST_STALL_S` or more too long: from the beat before it, `seconds` long."""

    start: float
    seconds: float

    @property
    def end(self) -> float:
        """The moment of the beat after it."""
        return self.start + self.seconds


def stall_between(beat: float, after: float) -> Stall | None:
    """Return the stall between two beats, or from the last one until now; None where it was none."""
    late = after - beat - BEAT_S
    return Stall(beat, after - beat) if late >= LEAST_STALL_S else None


def overlap(stalls: Iterable[Stall], start: float, end: float) -> float:
    """Return how many seconds from `start` to `end` are within stalls, which do not overlap each other."""
    return sum(max(0.0, min(end, stall.end) - max(start, stall.start)) for stall in stalls)


def own_seconds(measured: float, stalled: float, t_min: float) -> float:
    """Return the time of an answer that counts: what was measured, less what of it was the validator's standing still.

    An answer that was not early by the clock, for its role's `t_min`, does not become early.
    """
    return max(measured - stalled, min(measured, t_min), 0.0)


_KEPT: Final = 10_000  # stalls; of the shortest kind three hours of nothing else
_log = structlog.get_logger()


class Heartbeat:
    """Beats every 0.1 s on the event loop, which every deadline runs on, too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None
        self._stalls: deque[Stall] = deque(maxlen=_KEPT)

    async def run(self) -> None:
        """Beat until cancelled."""
        self._last = self._clock.monotonic()
        try:
            while True:
                await self._clock.sleep(BEAT_S)
                self._beat(self._clock.monotonic())
        finally:
            self._last = None

    def since(self, moment: float) -> tuple[Stall, ...]:
        """Return the stalls that ended after a moment of the monotonic clock, oldest first.

        After a stop everything that was due is run at once, deadlines among it: the stall that this beat has yet to
        end is one of them.
        """
        found = [stall for stall in self._stalls if stall.end > moment]
        open_ = None if self._last is None else stall_between(self._last, self._clock.monotonic())
        return tuple(found) if open_ is None else (*found, open_)

    def _beat(self, now: float) -> None:
        stall = None if self._last is None else stall_between(self._last, now)
        self._last = now
        if stall is not None:
            self._stalls.append(stall)
            _log.warning(Event.STALLED, seconds=round(stall.seconds, 3))
