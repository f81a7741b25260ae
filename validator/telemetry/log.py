"""The log: one JSON object per line, or coloured text on a terminal, without anything hostile.

Every record passes `harmless`: strings become one printable line of bounded length, deep and long values are cut,
and a value that cannot be shown never costs the line. Records of the standard library's loggers go the same way.
A line that comes again is counted, not written: one line an hour for each thing that fails in the same way.
"""

import logging
import math
import os
import re
import select
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from datetime import datetime
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final, Literal, NamedTuple, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from sssa.protocol.text import printable
from sssa.redaction import redact
from sssa.sources import Clock, SystemClock
from validator.telemetry.events import Event
from validator.telemetry.repetition import Once, place_of

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
Level = Literal["debug", "info", "warning", "error"]
SDK: Final = "bittensor"
_OURS: Final = "validator."
NOISY: Final = ("aiohttp", "aiosqlite", "alembic", "asyncio", SDK, "psycopg", "sqlalchemy", "websockets")
# It writes what it is given to do; our own events say what matters.
QUEUE: Final = "procrastinate"
MAX_TEXT: Final = 2_000  # code points
MAX_ITEMS: Final = 1_024
MAX_DEPTH: Final = 8
_MAX_TRACE_LINES: Final = 200
_MAX_INTEGER: Final = 2**64
MOST: Final = 4_096  # different things that are remembered; past that the one not seen for longest is news again
_TEMPLATE: Final = 200
_NUMBER: Final = re.compile(r"[0-9]+")
_MAKE_ROOM: Final = "free its disk, or start the program that reads it"
QUEUED: Final = 256 * 1024  # bytes of lines that wait for the log's reader; what does not fit is lost
FLUSH_S: Final = 2.0  # how long the end of the process waits for the reader
_FOLDS: Final = {str(event): event.folds for event in Event if event.folds is not None}

Observer = Callable[[str, Mapping[str, Any]], None]


def configure_logging(
    level: Level,
    form: Literal["auto", "json", "console"],
    stream: TextIO | None = None,
    observe: Observer | None = None,
    rooms: Mapping[str, Level] | None = None,
) -> None:
    """Send everything that is logged, here and in libraries, to one stream. Calling it again replaces the set-up.

    What waits is written at the end of the process, as far as the reader takes it within `FLUSH_S`.

    Args:
        level: the least important events that are logged; libraries that talk much are kept at `warning` at least.
        form: auto is console on a terminal, else json.
        stream: standard output if None: the log is what a service has to say. Commands give standard error.
        observe: called with the name and fields of every event of ours, whatever the level (`Metrics.observe`).
        rooms: other levels for what single rooms of the program log.
    """
    out = stream or sys.stdout
    console = form == "console" or (form == "auto" and out.isatty())
    shared = _processors(console)
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(colors=out.isatty()) if console else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            *([_watcher(observe)] if observe else []),
            structlog.stdlib.filter_by_level,
            Folding(SystemClock()),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = LogHandler(out)
    handler.addFilter(LibraryFolding(SystemClock()))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=[_name_library, *shared],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    for name in [name for name in root.manager.loggerDict if name.startswith(_OURS) and name.count(".") == 1]:
        logging.getLogger(name).setLevel(logging.NOTSET)
    for room, of_room in (rooms or {}).items():
        logging.getLogger(_OURS + room).setLevel(LEVELS[of_room])
    for name in NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, LEVELS[level]))
    # It warns at every attempt to reach a node that is gone, and may name endpoints whole; our own events say it.
    logging.getLogger(SDK).setLevel(logging.ERROR)
    logging.getLogger(QUEUE).setLevel(logging.CRITICAL)


def harmless(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Make every value of a record harmless to write; never raises."""
    return {
        # structlog's own entries start with _ and are removed again before a line is written.
        key: value if key.startswith("_") else _safe_trace(value) if key == "exception" else _safe(value, MAX_DEPTH)
        for key, value in event_dict.items()
    }


def _name_library(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
    """Turn a library's record into an event of ours."""
    message = event_dict.pop("event", "")
    return {"event": str(Event.LIBRARY), "library": event_dict["_record"].name, "message": message, **event_dict}


def _watcher(observe: Observer) -> Processor:
    def watch(_logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        observe(str(event_dict.get("event")), event_dict)
        return event_dict

    return watch


def _processors(console: bool) -> list[Processor]:
    # Locals stay out of tracebacks: they hold keys and salts.
    traceback: Processor = (
        structlog.processors.format_exc_info
        if console
        else structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
    )
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        traceback,
        harmless,
    ]


def _safe_trace(value: Any) -> Any:
    """Keep the lines of a rendered traceback, each made harmless."""
    if not isinstance(value, str):
        return _safe(value, MAX_DEPTH)
    return "\n".join(printable(redact(line), MAX_TEXT) for line in value.split("\n")[:_MAX_TRACE_LINES])


def _safe(value: Any, depth: int) -> Any:
    try:
        return _plain(value, depth)
    except Exception:  # noqa: BLE001 - a foreign __str__ or __iter__ may raise anything, and the line must be written
        return f"<{type(value).__name__}>"


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return _collection(value, depth - 1) if depth > 0 else "…"
    return printable(redact(str(value)), MAX_TEXT)


def _number(value: float) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return int(value) if abs(value) < _MAX_INTEGER else f"<integer of {value.bit_length()} bits>"


def _collection(value: Mapping[Any, Any] | Iterable[Any], depth: int) -> Any:
    if isinstance(value, Mapping):
        shown: MutableMapping[str, Any] = {
            printable(str(key), MAX_TEXT): _safe(item, depth) for key, item in islice(value.items(), MAX_ITEMS)
        }
        if len(value) > MAX_ITEMS:
            shown["…"] = f"{len(value) - MAX_ITEMS} more"
        return shown
    items = list(islice(value, MAX_ITEMS + 1))
    cut = [_safe(item, depth) for item in items[:MAX_ITEMS]]
    return cut if len(items) <= MAX_ITEMS else [*cut, "…"]


class Folding:
    """Drops lines that were written within the hour; the next one that is written carries `repeats`.

    `Event.folds` declares which events are folded, and by which fields. Metrics have counted every line before. Loggers
    that show debug lines fold nothing.

    Args:
        clock: measures how long the same line was not logged.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._repeats: OrderedDict[tuple[str, ...], Once] = OrderedDict()

    def fresh(self, *key: str) -> int | None:
        """Return how many were suppressed since the last line, if this one must be logged; else None."""
        once = self._repeats.get(key)
        if once is None:
            once = self._repeats[key] = Once(self._clock)
        self._repeats.move_to_end(key)
        if len(self._repeats) > MOST:
            self._repeats.popitem(last=False)
        return once.fresh("")

    def __call__(self, logger: WrappedLogger, _method: str, event_dict: EventDict) -> EventDict:
        """Drop or count an event of ours; a processor (DropEvent: it was logged already)."""
        name = str(event_dict.get("event"))
        folds = _FOLDS.get(name)
        if folds is None or logger.isEnabledFor(logging.DEBUG):
            return event_dict
        repeats = self.fresh(name, *(_value(field, event_dict) for field in folds))
        if repeats is None:
            raise structlog.DropEvent
        return {**event_dict, "repeats": repeats} if repeats else event_dict


class LogState(NamedTuple):
    """State of the log's output: how many lines were lost, and for how many seconds the reader has taken nothing."""

    lost: int
    stuck_s: float


class LogHandler(logging.Handler):
    """Writer of the log's lines to a stream. Nobody waits for its reader: a thread writes from a bounded queue.

    A stream without a file descriptor is in memory and written at once. Lines that the stream refuses, or that find
    the queue full, are lost and counted; standard error has a line when that begins, and one when it is over.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._queue: SimpleQueue[bytes | threading.Event] = SimpleQueue()
        self._thread: threading.Thread | None = None
        # Each is changed by one side alone: these by who logs, under the handler's lock; the others by who writes.
        self._queued = self._dropped = 0
        self._taken = self._refused = self._reported = 0
        self._failing = False
        self._began: float | None = None
        try:
            stream.fileno()
        except (OSError, AttributeError):
            self._in_memory = True
        else:
            self._in_memory = False

    @property
    def state(self) -> LogState:
        """Return what was lost until now, and for how long the reader has taken nothing."""
        began = self._began
        return LogState(self._dropped + self._refused, 0.0 if began is None else time.monotonic() - began)

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line of a record; never waits for the stream."""
        try:
            line = (self.format(record) + "\n").encode(errors="backslashreplace")
        except Exception:  # noqa: BLE001 - the library's own way: it prints the fault to standard error
            self.handleError(record)
            return
        if self._in_memory:
            self._write(line)
        elif self._queued - self._taken + len(line) > QUEUED:
            self._dropped += 1
        else:
            self._queued += len(line)
            self._queue.put(line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Wait until what was logged is written, for `FLUSH_S` at most. Called at the end of the process, too."""
        if self._thread is not None:
            written = threading.Event()
            self._queue.put(written)
            if not written.wait(FLUSH_S):
                _complain(f"the log's reader has taken nothing for {FLUSH_S:g} s, its last lines are lost")

    def _write_all(self) -> None:
        while True:
            line = self._queue.get()
            if isinstance(line, threading.Event):
                line.set()
                continue
            self._began = time.monotonic()
            self._write(line)
            self._taken += len(line)
            self._began = None

    def _write(self, line: bytes) -> None:
        try:
            if self._in_memory:
                self._stream.write(line.decode())
            else:
                _write_whole(self._stream.fileno(), line)
        except (OSError, ValueError) as error:  # ValueError: it is closed
            self._refused += 1
            if not self._failing:
                self._failing = True
                reason = error.strerror if isinstance(error, OSError) else error
                _complain(f"the log cannot be written, its lines are lost: {reason}; {_MAKE_ROOM}")
            return
        self._failing = False
        if (lost := self.state.lost) > self._reported:
            _complain(f"the log is written again; {lost - self._reported} lines were lost")
            self._reported = lost


def log_state() -> LogState:
    """Return the state of the log's output."""
    states = [one.state for one in logging.getLogger().handlers if isinstance(one, LogHandler)]
    return states[0] if states else LogState(0, 0.0)


def _write_whole(descriptor: int, line: bytes) -> None:
    """Write all of a line (OSError: the reader is gone, or the disk full); waits for as long as the reader does."""
    while line:
        try:
            line = line[os.write(descriptor, line) :]
        except BlockingIOError:  # somebody who shares it made it non-blocking
            select.select((), (descriptor,), ())


def _complain(text: str) -> None:
    """Write a line to standard error if that takes it now; unbuffered, since a thread may hold the buffer's lock."""
    with suppress(OSError):
        if select.select((), (2,), (), 0)[1]:
            os.write(2, f"{text}\n".encode())


class LibraryFolding(logging.Filter):
    """Folding of warnings and errors of libraries: repetitions from the same place are counted.

    Numbers are ignored in the comparison: a library that retries names its seconds.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._folding = Folding(clock)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is written; its text says how many were suppressed."""
        if isinstance(record.msg, dict) or record.levelno < logging.WARNING:  # ours, or not a failure
            return True
        error = record.exc_info[1] if record.exc_info else None
        what = _NUMBER.sub("0", str(record.msg)[:_TEMPLATE]) if error is None else place_of(error)
        repeats = self._folding.fresh(record.name, str(record.levelno), what)
        if repeats:
            record.msg = f"{record.getMessage()} ({repeats} more since the last line)"
            record.args = ()
        return repeats is not None


def _value(field: str, event_dict: EventDict) -> str:
    if field != "exception":
        return str(event_dict.get(field))
    error = sys.exc_info()[1]
    return "" if error is None else place_of(error)
