"""What comes again is counted, not written: one line an hour for each thing that fails in the same way."""

import logging
import sys
from collections import OrderedDict
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

from validator.sources import Clock
from validator.telemetry.events import Event
from validator.telemetry.repetition import Once, place_of

MOST: Final = 4_096  # different things that are remembered; past that the one not seen for longest is news again
_TEMPLATE: Final = 200


class Folding:
    """Drops lines that were written within the hour; the next one that is written carries `repeats`.

    Which events, and which of their fields tell one from another, is declared in `Event.folds`. Metrics have counted
    every line before. Loggers that show debug lines fold nothing: whoever turned that on wants to see each.

    Args:
        clock: for how long the same was not said.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said: OrderedDict[tuple[str, ...], Once] = OrderedDict()

    def fresh(self, *key: str) -> int | None:
        """Return how many were not said since the last that was, if this one shall be said; None for silence."""
        once = self._said.get(key)
        if once is None:
            once = self._said[key] = Once(self._clock)
        self._said.move_to_end(key)
        if len(self._said) > MOST:
            self._said.popitem(last=False)
        return once.fresh("")

    def __call__(self, logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        """Drop or count an event of ours; a processor.

        Raises:
            DropEvent: it was said already.
        """
        name = str(event_dict.get("event"))
        folds = _FOLDS.get(name)
        if folds is None or logger.isEnabledFor(logging.DEBUG):
            return event_dict
        repeats = self.fresh(name, *(_value(field, event_dict) for field in folds))
        if repeats is None:
            raise structlog.DropEvent
        return {**event_dict, "repeats": repeats} if repeats else event_dict


class LibraryFolding(logging.Filter):
    """The same for warnings and errors of libraries: one that comes again from the same place is counted."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._folding = Folding(clock)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; its text says how often it was not."""
        if isinstance(record.msg, dict) or record.levelno < logging.WARNING:  # ours, or not a failure
            return True
        error = record.exc_info[1] if record.exc_info else None
        what = str(record.msg)[:_TEMPLATE] if error is None else place_of(error)
        repeats = self._folding.fresh(record.name, str(record.levelno), what)
        if repeats:
            record.msg = f"{record.getMessage()} ({repeats} more since it was said last)"
            record.args = ()
        return repeats is not None


_FOLDS: Final = {str(event): event.folds for event in Event if event.folds is not None}


def _value(field: str, event_dict: EventDict) -> str:
    if field != "exception":
        return str(event_dict.get(field))
    error = sys.exc_info()[1]
    return "" if error is None else place_of(error)
