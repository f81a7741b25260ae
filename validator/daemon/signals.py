"""Signals as requests to stop, and a deadline by which the process ends in any case.

The interpreter writes a signal to a socket as it arrives, and its own thread reads there: neither a frozen event
loop nor slow threads, transactions or processes hold it up. Called by `validator run`, `worker` and `serve`; the
reference miner and the local network use `Stop` alone.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final, NoReturn

from sssa.protocol.errors import ValidatorError
from validator.daemon.exits import Exit

AT_ONCE_S: Final = 1.0  # from the second request to the end of the process
CLOSING_S: Final = 10.0  # the same from the end of the grace time
_SAYING_S: Final = 0.25
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WITHOUT_EFFECT: Final = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)


def take_signals(handle: Callable[[int, FrameType | None], object]) -> None:
    """Let `handle` take SIGTERM, SIGINT and SIGHUP; keep SIGUSR1, SIGUSR2 and SIGALRM from ending the process.

    A SIGHUP that was ignored when the process started stays so (`nohup`). A terminal that closes sends several: one
    after any request to stop must not count as the second request.
    """
    for number in _SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handle)
    for number in _WITHOUT_EFFECT:
        signal.signal(number, _ignore)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: unlike SIG_IGN, a handler is not passed on to programs that this one starts."""


class Stop:
    """Two events: `requested` lets the round in hand finish, `at_once` does not."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.at_once = asyncio.Event()

    def request(self) -> None:
        """Request a stop, or the second time a stop at once."""
        (self.at_once if self.requested.is_set() else self.requested).set()

    def listen(self) -> None:
        """Take the signals of this process as requests, from within the running event loop."""
        loop = asyncio.get_running_loop()

        def handle(number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.requested.set if number == signal.SIGHUP else self.request)

        take_signals(handle)


class StoppedAtStartError(ValidatorError):
    """Asked to stop before the start was complete."""


class Signals:
    """Takes SIGTERM, SIGINT and SIGHUP as requests to stop; the process ends in time.

    While the daemon starts, one request ends it. Afterwards the first one gives the round in hand the grace time, the
    second one all that is open a second; more change nothing. When the time is over the process ends where it is:
    what a transaction has not committed by then is not in the store.
    """

    def __init__(self) -> None:
        self.stop = Stop()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Task[object] | None = None
        self._grace_s: float | None = None
        self._requests = 0
        self._deadline: float | None = None
        self._reading, self._writing = socket.socketpair()

    def listen(self) -> None:
        """Start listening, from the main thread, until the process ends: its end can hang as well."""
        self._writing.setblocking(False)
        take_signals(_ignore)  # without a handler nothing is written to the socket
        signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        threading.excepthook = _print_fault
        threading.Thread(target=self._watch, name="signals", daemon=True).start()

    def starting(self) -> None:
        """Note that the running task starts the daemon: from now on a request cancels it."""
        with self._lock:
            self._loop, self._starting = asyncio.get_running_loop(), asyncio.current_task()

    def started(self, grace_s: float) -> None:
        """Note that the daemon has started; `grace_s` is how long a round in hand may take to finish.

        Raises:
            CancelledError: there was a request meanwhile.
        """
        with self._lock:
            if self._requests:
                raise asyncio.CancelledError
            self._grace_s = grace_s

    @property
    def stopped_at_start(self) -> bool:
        """True if a stop was requested before the daemon had started."""
        return self._grace_s is None and self._requests > 0

    def _watch(self) -> None:
        while True:
            self._reading.settimeout(None if self._deadline is None else max(0.001, self._deadline - time.monotonic()))
            try:
                arrived = self._reading.recv(64)
            except TimeoutError:
                self._end()
            for number in (number for number in arrived if number in _SIGNALS):
                with self._lock:
                    if not (number == signal.SIGHUP and self._requests):
                        self._take()

    def _take(self) -> None:
        self._requests += 1
        if self._grace_s is None:
            if self._loop is None or self._starting is None:
                self._end()
            self._on_loop(self._loop, self._starting.cancel)
            limit = AT_ONCE_S
        else:
            self._on_loop(self._loop, self.stop.request)
            limit = self._grace_s + CLOSING_S if self._requests == 1 else AT_ONCE_S
        ends = time.monotonic() + limit
        self._deadline = ends if self._deadline is None else min(ends, self._deadline)

    @staticmethod
    def _on_loop(loop: asyncio.AbstractEventLoop | None, call: Callable[[], object]) -> None:
        if loop is not None:
            with suppress(RuntimeError):  # it is closed: nothing is left to tell
                loop.call_soon_threadsafe(call)

    def _end(self) -> NoReturn:
        # In a thread: anyone who reads what we write may have stopped reading.
        saying = threading.Thread(target=self._say, daemon=True)
        saying.start()
        saying.join(_SAYING_S)
        os._exit(Exit.NOT_STARTED if self.stopped_at_start else Exit.CUT_OFF)

    def _say(self) -> None:
        if self.stopped_at_start:
            sys.stderr.write(f"{StoppedAtStartError()}\n")
            sys.stderr.flush()
            return
        import structlog  # noqa: PLC0415 - signals are listened to before anything that is slow to import

        from validator.telemetry.events import Event  # noqa: PLC0415 - see above

        structlog.get_logger().warning(Event.DAEMON_CUT_OFF, requests=self._requests)
        for handler in logging.getLogger().handlers:
            handler.flush()


def _print_fault(raised: threading.ExceptHookArgs) -> None:
    """Print what a thread raised, unless the event loop was closed and its result is not needed any more."""
    if not (isinstance(raised.exc_value, RuntimeError) and str(raised.exc_value) == "Event loop is closed"):
        threading.__excepthook__(raised)
