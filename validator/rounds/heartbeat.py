"""Detection of stalls of the validator's event loop (SPEC 16, D-26).

Stalls are kept in memory; `dispatch.py` stores them.
"""

from collections import deque
from typing import Final

import structlog

from sssa.sources import Clock
from validator.outgoing.stalls import BEAT_S, Stall, stall_between
from validator.telemetry import Event

_KEPT: Final = 10_000  # stalls: about three hours of back-to-back stalls of the minimum length
_log = structlog.get_logger()


class Heartbeat:
    """Detector that wakes every 0.1 s on the event loop that also runs the deadlines. A late wake-up is a stall."""

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

        A stall in progress is included: after one, deadlines that are due may run before the next beat records it.
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
