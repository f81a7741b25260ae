"""Repetition of failures in services that retry: one that is the same as the last is counted, not logged."""

from typing import Final

from sssa.sources import Clock

AGAIN_S: Final = 3600.0
_QUIET_S: Final = 60.0


def place_of(error: BaseException) -> str:
    """Return type and place of an error: equal for the same fault, regardless of its text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return f"{type(error).__qualname__} {place}"


class Once:
    """Suppression of repeated failures; after `again_s` seconds the same one is logged again, with the count."""

    def __init__(self, clock: Clock, again_s: float = AGAIN_S) -> None:
        self._clock = clock
        self._again_s = again_s
        self._last: tuple[str, float] | None = None
        self._repeats = 0

    def fresh(self, what: str) -> int | None:
        """Return how many were suppressed since the last line, if this one must be logged; else None."""
        now = self._clock.monotonic()
        if self._last is not None and self._last[0] == what and now - self._last[1] < self._again_s:
            self._repeats += 1
            return None
        repeats, self._repeats, self._last = self._repeats, 0, (what, now)
        return repeats

    def over(self) -> None:
        """Note a success: the next failure is logged."""
        self._last, self._repeats = None, 0


class Outage:
    """An outage as two lines of the log: at most one such pair a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None
        self._reported_at: float | None = None  # of the newest line
        self._reported = False  # whether the current outage was logged

    def begun(self) -> bool:
        """Note the outage; return whether it must be logged now."""
        now = self._clock.monotonic()
        if self._since is None:
            self._since = now
        if self._reported or (self._reported_at is not None and now - self._reported_at < _QUIET_S):
            return False
        self._reported, self._reported_at = True, now
        return True

    def over(self) -> float | None:
        """Note the end of the outage; return its seconds if that must be logged."""
        since, reported = self._since, self._reported
        self._since, self._reported = None, False
        return round(self._clock.monotonic() - since, 3) if reported and since is not None else None
