"""The validator's heartbeat, which shows when the validator stood still (SPEC 16, D-26).

In memory; the store gets stalls from `dispatch.py`.
"""

from collections import deque
from typing import Final

import structlog

from sssa.sources import Clock
from validator.outgoing.stalls import BEAT_S, Stall, stall_between
from validator.telemetry import Event

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
        stalls = [stall for stall in self._stalls if stall.end > moment]
        open_ = None if self._last is None else stall_between(self._last, self._clock.monotonic())
        return tuple(stalls) if open_ is None else (*stalls, open_)

    def _beat(self, now: float) -> None:
        stall = None if self._last is None else stall_between(self._last, now)
        self._last = now
        if stall is not None:
            self._stalls.append(stall)
            _log.warning(Event.STALLED, seconds=round(stall.seconds, 3))
