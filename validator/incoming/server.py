"""Bounds of an aiohttp application: connections, time to send a request, time to take the answer, lines of log.

The task server, `validator serve` and the health endpoint listen through it.
"""

import asyncio
import hmac
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler
from aiohttp.web_protocol import RequestHandler

from sssa.protocol.text import printable
from sssa.sources import Clock, SystemClock
from validator.cancellation import ended
from validator.telemetry.repetition import Once, place_of

_REASON_LENGTH: Final = 200
_log = structlog.get_logger()


class Faults(logging.Logger):
    """The logger that aiohttp gets, for one server."""

    def __init__(self, server: str, clock: Clock) -> None:
        super().__init__("validator.incoming")
        self._server = server
        self._malformed, self._ours = Once(clock), Once(clock)

    def exception(self, msg: object, *args: object, exc_info: Any = None, **_: Any) -> None:
        """Log a failed request: a line for malformed bytes, a traceback for an internal error."""
        if isinstance(exc_info, HttpProcessingError):
            self._strangers(exc_info, str(args[0]) if args else "")
            return
        repeats = self._ours.fresh(place_of(exc_info) if isinstance(exc_info, BaseException) else str(msg))
        if repeats is not None:
            _log.error("request_failed", server=self._server, reason=str(msg), repeats=repeats, exc_info=exc_info)

    def debug(self, msg: object, *args: object, exc_info: Any = None, **_: Any) -> None:  # noqa: ARG002 - the base's
        """Log what aiohttp logs on its debug level only: bytes that are not HTTP."""
        if isinstance(exc_info, HttpProcessingError):
            self._strangers(exc_info, str(args[0]) if args else "")

    def _strangers(self, error: HttpProcessingError, peer: str) -> None:
        """Log it once an hour whatever the bytes are: senders must not fill the log."""
        repeats = self._malformed.fresh("")
        if repeats is not None:
            reason = printable(" ".join(error.message.split()), _REASON_LENGTH)
            _log.info("request_malformed", server=self._server, peer=peer, reason=reason, repeats=repeats)


_BACKLOG: Final = 128  # these wait in the kernel and take no descriptor
_OWN_DESCRIPTORS: Final = 8  # what listens, and what is about to be closed
_AGAIN_S: Final = 1.0
_SHUTDOWN_S: Final = 1.0
Listen = Callable[[str, int], Awaitable[Sequence[socket.socket]]]
"""Opens sockets at a host and a port."""


class Bounds(NamedTuple):
    """Limits of a server.

    Attributes:
        connections: open at once; one more takes the place of the oldest that is not `trusted`.
        header_s: from the opening of a connection, or the end of an answer, to the last byte of a request's header.
        request_s: from there until the answer has been taken.
    """

    connections: int
    header_s: float
    request_s: float

    @property
    def descriptors(self) -> int:
        """Largest number of file descriptors in use, sockets that are closing included."""
        return self.connections + _OWN_DESCRIPTORS


async def listening_sockets(host: str, port: int) -> Sequence[socket.socket]:
    """Return sockets that listen at every address of `host`, on a free port where `port` is 0.

    Raises:
        OSError: an address cannot be had.
    """
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listening: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((family, address[:2]) for family, _, _, _, address in addresses):
            listening.append(socket.create_server(address, family=family, backlog=_BACKLOG))
            listening[-1].setblocking(False)
    except BaseException:
        for one in listening:
            one.close()
        raise
    return listening


@dataclass(eq=False, slots=True)
class BoundedServer:
    """A server of an application, which must not be running yet, within bounds."""

    name: str
    app: web.Application
    bounds: Bounds
    clock: Clock = field(default_factory=SystemClock)
    listen: Listen = listening_sockets
    _runner: web.AppRunner | None = field(init=False, default=None)
    _sockets: list[socket.socket] = field(init=False, default_factory=list)
    _accepting: list[asyncio.Task[None]] = field(init=False, default_factory=list)
    _timers: dict[RequestHandler, asyncio.TimerHandle] = field(init=False, default_factory=dict)
    _trusted: set[RequestHandler] = field(init=False, default_factory=set)
    _logged: Once = field(init=False)

    def __post_init__(self) -> None:
        self._logged = Once(self.clock)
        self.app[_SERVER] = self
        self.app.middlewares.insert(0, _limited)

    @property
    def addresses(self) -> Sequence[tuple[str, int]]:
        """Host and port of each socket it listens on; the port is the real one where 0 was asked for."""
        return [one.getsockname()[:2] for one in self._sockets]

    async def start(self, host: str, port: int) -> Self:
        """Listen at every address of `host`, on a free port where `port` is 0 (OSError: the address cannot be had)."""
        loop = asyncio.get_running_loop()
        self._sockets = list(await self.listen(host, port))
        try:
            self._runner = web.AppRunner(
                self.app,
                access_log=None,
                shutdown_timeout=_SHUTDOWN_S,
                keepalive_timeout=self.bounds.header_s,  # aiohttp counts it from the opening on
                logger=Faults(self.name, self.clock),
            )
            await self._runner.setup()
            server = self._runner.server
            if server is None:
                raise RuntimeError("a runner that is set up has a server")
        except BaseException:
            await self.close()
            raise
        self._accepting = [loop.create_task(self._accept(one, server)) for one in self._sockets]
        return self

    async def close(self) -> None:
        """Stop listening and cut off what is open."""
        await ended(self._accepting)
        for one in self._sockets:
            one.close()
        for timer in self._timers.values():
            timer.cancel()
        self._accepting, self._sockets, self._timers = [], [], {}
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _accept(self, listening: socket.socket, server: web.Server) -> None:
        """Accept connections forever; an error is logged, and the next one is accepted a second later."""
        while True:
            try:
                await self._take(listening, server)
            except Exception as error:  # noqa: BLE001 - a server that listens and takes nobody says nothing
                reason = (isinstance(error, OSError) and error.strerror) or type(error).__name__
                fault = None if isinstance(error, OSError) else error
                if (repeats := self._logged.fresh(place_of(fault) if fault else reason)) is not None:
                    _log.warning("accept_failed", server=self.name, reason=reason, repeats=repeats, exc_info=fault)
                await self.clock.sleep(_AGAIN_S)

    async def _take(self, listening: socket.socket, server: web.Server) -> None:
        loop = asyncio.get_running_loop()
        try:
            taken, _ = await loop.sock_accept(listening)
        except OSError:  # mostly: no descriptor is left
            self._make_room(server, at_least=1)
            raise
        try:
            self._make_room(server)
            with suppress(OSError):  # it is gone again
                await loop.connect_accepted_socket(server, taken)
        except Exception:
            taken.close()
            raise

    def _make_room(self, server: web.Server, at_least: int = 0) -> None:
        """Close the oldest connections for one more, those of unknown senders first."""
        held = server.connections
        self._trusted.intersection_update(held)
        for gone in self._timers.keys() - set(held):
            self._timers.pop(gone).cancel()
        held.sort(key=lambda one: one in self._trusted)
        for one in held[: max(at_least, len(held) + 1 - self.bounds.connections)]:
            _cut(one)

    def trust(self, connection: RequestHandler) -> None:
        """Keep this connection while others can make room for a new one."""
        self._trusted.add(connection)

    def began(self, connection: RequestHandler) -> None:
        """Note that a request's header is complete: the time for its answer begins."""
        if (timer := self._timers.pop(connection, None)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self.bounds.request_s, _cut, connection)


_SERVER: Final = web.AppKey("bounded_server", BoundedServer)


def trusted(request: web.Request) -> None:
    """Mark a request's sender as known: its connection does not make room for strangers'."""
    if (server := request.app.get(_SERVER)) is not None:
        server.trust(request.protocol)


@web.middleware
async def _limited(request: web.Request, handler: Handler) -> web.StreamResponse:
    request.app[_SERVER].began(request.protocol)
    return await handler(request)


def _cut(connection: RequestHandler) -> None:
    transport = connection.transport
    connection.force_close()
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()  # what waits to be written to a peer that does not read is lost


def bears(request: web.Request, token: str) -> bool:
    """Return whether the request carries the token as its bearer."""
    sent = request.headers.get("Authorization", "").encode(errors="surrogateescape")
    return hmac.compare_digest(sent, f"Bearer {token}".encode())
