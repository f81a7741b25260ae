"""Comparison of the local clock with the chain's, by the arrival of fresh blocks (SPEC 16, D-26). No I/O.

A block's time says when it was made. Its arrival is known only if it was missing at the look before; and it arrived
when it was made only while blocks come no faster than time passes: a node that catches up shows old blocks, a stopped
one shows none. So one late block proves nothing; two that keep pace with time do.
"""

from itertools import pairwise
from typing import Final, NamedTuple

from sssa.sources import Clock

MOST_OFF_S: Final = 30.0
_STEP_S: Final = 1.0  # between two clocks that continue alike; more: one was set, or the machine slept
_GIVEN_UP_S: Final = 90.0  # without a fresh block for so long, the chain stops and tells nothing
_ROUNDING_S: Final = 1.0
_ENOUGH: Final = 3  # the look before, and two arrivals


class _Look(NamedTuple):
    number: int
    made: float  # the block's time
    local: float  # when it was first seen, by the local clock and by the monotonic one
    monotonic: float
    until: float  # when it was last seen to be the newest, by the monotonic one

    @property
    def origin(self) -> float:
        """Local time at which the monotonic clock shows 0."""
        return self.local - self.monotonic


class ClockWatch:
    """Comparison of the local clock with recorded blocks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks: list[_Look] = []  # where the number rose, oldest first, and the last look at all
        self._since = clock.monotonic()
        self._known: tuple[float, float] | None = None  # origin at the last verdict, and seconds off

    def record_block(self, number: int, made: float) -> None:
        """Note the newest block: its number, and its time in seconds since the Unix epoch."""
        now = self._clock.monotonic()
        look = _Look(number, made, self._clock.now().timestamp(), now, now)
        if self._looks and abs(look.origin - self._looks[-1].origin) > _STEP_S:
            self._looks, self._known, self._since = [], None, now
        if look.local < made - MOST_OFF_S:
            self._know(look, look.local - made)  # no block comes from the future
        elif not self._looks and look.local - made <= MOST_OFF_S:
            self._know(look, 0.0)
        if self._looks and number <= self._looks[-1].number:
            self._looks[-1] = self._looks[-1]._replace(until=now)
            return
        self._looks = [*self._looks[-2:], look]
        if look.local >= made - MOST_OFF_S:
            self._arrived()

    @property
    def off(self) -> float | None:
        """Seconds by which the local clock is ahead of the chain's (behind: negative); None if unknown.

        0 also means that no deviation can be measured. A clock that was set meanwhile is off by so much more.
        """
        if self._known is None:
            return None
        origin, off = self._known
        stepped = self._clock.now().timestamp() - self._clock.monotonic() - origin
        return off + stepped if abs(stepped) > _STEP_S else off

    @property
    def wrong(self) -> bool:
        """True if the local clock is more than 30 s off."""
        off = self.off
        return off is not None and abs(off) > MOST_OFF_S

    @property
    def unsure(self) -> bool:
        """True while only old blocks are known, so that a fresh one must decide; at most 90 s."""
        waited = self._clock.monotonic() - self._since
        return bool(self._looks) and self._known is None and waited < _GIVEN_UP_S

    def _arrived(self) -> None:
        """Compare the clock with the two newest blocks, if both arrived in step with time."""
        looks = self._looks
        first, last = looks[0], looks[-1]
        if len(looks) < _ENOUGH:
            return
        made, passed = last.made - first.made, last.monotonic - first.monotonic
        spacing = made / (last.number - first.number)
        if made > passed + spacing + _ROUNDING_S:
            return
        pairs = list(pairwise(looks))
        least = max(after.local - (after.monotonic - before.until) - after.made for before, after in pairs)
        most = min(after.local - after.made for _, after in pairs)
        if least <= most:
            self._know(last, least if least > 0 else most if most < 0 else 0.0)

    def _know(self, look: _Look, off: float) -> None:
        self._known = (look.origin, off)
