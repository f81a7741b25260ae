"""When the validator itself stood still, and what of a miner's time that was (SPEC 16, D-26).

All moments are seconds of one monotonic clock; only their differences mean anything.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

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
    """Return how many seconds from `start` to `end` lie within stalls, which do not overlap each other."""
    return sum(max(0.0, min(end, stall.end) - max(start, stall.start)) for stall in stalls)


def own_seconds(measured: float, stalled: float, t_min: float) -> float:
    """Return the time of an answer that counts: what was measured, less what of it was the validator's standing still.

    Args:
        measured: from the first byte sent to the last byte received.
        stalled: what of it lies within stalls.
        t_min: of the miner's role: an answer that was not early by the clock does not become early.
    """
    return max(measured - stalled, min(measured, t_min), 0.0)
