"""What a server logs of requests that fail: strangers' bytes in one line, again only with a count (`Once`)."""

import logging
from typing import Any, Final

import structlog
from aiohttp.http_exceptions import HttpProcessingError

from validator.protocol.text import printable
from validator.sources import Clock
from validator.telemetry.repetition import Once, place_of

_WORDS: Final = 200
_log = structlog.get_logger()


class Faults(logging.Logger):
    """What aiohttp takes for its logger.

    Args:
        server: its name in the log.
        clock: for how long the same was not said.
    """

    def __init__(self, server: str, clock: Clock) -> None:
        super().__init__("validator.incoming")
        self._server = server
        self._malformed, self._ours = Once(clock), Once(clock)

    def exception(self, msg: object, *args: object, exc_info: Any = None, **_: Any) -> None:
        """Say what came of a request: a line for bytes that are none, a traceback for a fault of ours."""
        if isinstance(exc_info, HttpProcessingError):
            self._strangers(exc_info, str(args[0]) if args else "")
            return
        repeats = self._ours.fresh(place_of(exc_info) if isinstance(exc_info, BaseException) else str(msg))
        if repeats is not None:
            _log.error("request_failed", server=self._server, reason=str(msg), repeats=repeats, exc_info=exc_info)

    def debug(self, msg: object, *args: object, exc_info: Any = None, **_: Any) -> None:  # noqa: ARG002 - the base's
        """Say the one thing that aiohttp keeps for its debug level: bytes that are not HTTP at all."""
        if isinstance(exc_info, HttpProcessingError):
            self._strangers(exc_info, str(args[0]) if args else "")

    def _strangers(self, error: HttpProcessingError, peer: str) -> None:
        """Say it once an hour whatever the bytes are: what they choose must not choose the lines of the log."""
        repeats = self._malformed.fresh("")
        if repeats is not None:
            reason = printable(" ".join(error.message.split()), _WORDS)
            _log.info("request_malformed", server=self._server, peer=peer, reason=reason, repeats=repeats)
