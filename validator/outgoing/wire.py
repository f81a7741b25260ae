"""Connections below aiohttp's client: opened to an address (RFC 8305), read in small, bounded portions.

aiohttp bounds lines and fields, but not the whole: sixty miners with endless interim responses, or chunks of one byte,
held the event loop for 3.7 s in a trial. Here they are cut off, and until then each gets one small portion a turn.
"""

import asyncio
import re
import socket
from concurrent.futures import Executor
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from aiohappyeyeballs import start_connection
from aiohttp import ClientPayloadError
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from validator.outgoing.tls import Tls, TlsError, shake_hands

_WRITTEN: Final = 64 * 1024  # bytes of a request that are handed to the transport before it is asked for room
_PORTION: Final = 4 * 1024  # bytes parsed in one turn of the event loop
_OVERHEAD: Final = 32 * 1024  # bytes that are not body: status lines, headers, chunk framing
_READ_AHEAD: Final = 64 * 1024  # bytes; at most a little over twice as much waits unread
_MAX_LINE: Final = 8_190  # bytes of a status line or a header field
_MAX_HEADERS: Final = 64
_FIRST_INTERIM: Final = 100
_LAST_INTERIM: Final = 199
_SWITCHING: Final = 101
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})[ \r\n]")
_STATUS_LINE_BYTES: Final = 16


class Wire(ResponseHandler):
    """One connection's incoming side, of TLS once its handshake is done.

    What the transport reads waits in a backlog, from which one portion is parsed per turn of the event loop; reading
    is paused as long as there is one. Of TLS, one record is opened per turn. Bytes that a peer sent before it closed
    the connection are parsed first.

    Attributes:
        status: of the newest response line, even if nothing whole followed it; None before one came.
        ended: loop time at which the last byte of the response arrived; None before.
        heard: loop times at which the first and the newest byte arrived; None before one did.
        lost: loop time at which the peer was seen to end the connection before the response was whole; None if not.
        excessive: whether the connection was cut because headers, framing or TLS outweigh the body.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, tls: Tls | None = None) -> None:
        super().__init__(loop)
        self.status: int | None = None
        self.ended: float | None = None
        self.heard: tuple[float, float] | None = None
        self.lost: float | None = None
        self.excessive = False
        self._start = b""
        self._arrived = 0.0
        self._backlog = bytearray()
        self._parsed = 0
        self._tls = tls
        self._reader: StreamReader | None = None
        self._turn_due = False
        self._given_up = False
        self._lost: tuple[BaseException | None] | None = None

    async def write(self, data: bytes) -> None:
        """Send all of it, at the peer's pace; a closed connection is noticed by the reader."""
        view = memoryview(data)
        while view and self.transport is not None and not self.transport.is_closing():
            self.transport.write(self._tls.seal(view[:_WRITTEN]) if self._tls else view[:_WRITTEN])
            view = view[_WRITTEN:]
            if view:
                with suppress(ConnectionError):
                    await self._drain_helper()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Pause reading until the request is sent."""
        super().connection_made(transport)
        if self.transport is not None:
            self.transport.pause_reading()

    def expect_response(self) -> None:
        """Begin to read, within the bounds of a head's lines."""
        self.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            read_bufsize=_READ_AHEAD,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            max_headers=_MAX_HEADERS,
        )
        if self.transport is not None:
            self.transport.resume_reading()

    async def response(self) -> tuple[RawResponseMessage, StreamReader]:
        """Return the head of the response, interim ones passed over, and what its body comes through."""
        while True:
            message, content = await self.read()
            if _is_last(message):
                return message, content

    def data_received(self, data: bytes) -> None:
        """Feed data to the parser; without data, let it continue with what it held back."""
        if not data:
            super().data_received(data)
            return
        self._arrived = self._loop.time()
        if self._tls is None:
            self._take(data)
        else:
            self._tls.receive(data)
        if not self._turn_due:
            self._turn()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take a parsed head from the parser, on its way to the client."""
        message, reader = data
        self.status = message.code
        if _is_last(message):
            self._reader = reader
            reader.on_eof(self._end)
        super().feed_data(data, size)

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Continue: the parser with what it held back, then the backlog, then the transport."""
        if not self._reading_paused:
            return  # asked after every chunk: nothing to do, and not worth a system call
        super().resume_reading(resume_parser)
        if self._waiting or self._lost:
            self._schedule_turn()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End the response after everything that arrived is parsed."""
        if not self._done and self.lost is None:
            self.lost = self._loop.time()
        if self._done or not (self._waiting or self._reading_paused):
            super().connection_lost(exc)
        else:
            self._lost = (exc,)
            self._schedule_turn()

    def close(self) -> None:
        """Close at once: an orderly close would wait for a peer that does not read."""
        self.abort()

    def abort(self) -> None:
        """Close at once."""
        self._given_up = True
        self._drop()
        self._reader = None  # it knows us: what it holds would wait until garbage is searched for
        super().abort()

    @property
    def _done(self) -> bool:
        return self._given_up or self.ended is not None

    @property
    def _waiting(self) -> bool:
        """True if there is something to parse, or a record to open."""
        return bool(self._backlog) or (self._tls is not None and self._tls.has_record)

    def _turn(self) -> None:
        self._turn_due = False
        if not self._done and not self._reading_paused:
            if not self._backlog and self._tls is not None and self._waiting:
                self._open_record(self._tls)
            if self._backlog:
                self._parse_portion()
        if self._done:
            self._drop()  # whatever a peer sends after its response is none of it
        elif self._reading_paused:
            return  # resume_reading continues
        if self._waiting:
            self._schedule_turn()
        elif self._lost is not None:
            (exc,), self._lost = self._lost, None
            super().connection_lost(exc)
        elif self.transport is not None:
            self.transport.resume_reading()

    def _schedule_turn(self) -> None:
        if self.transport is not None:
            self.transport.pause_reading()
        if not self._turn_due:
            self._turn_due = True
            self._loop.call_soon(self._turn)

    def _drop(self) -> None:
        self._backlog.clear()
        if self._tls is not None:
            self._tls.discard()

    def _open_record(self, tls: Tls) -> None:
        try:
            data = tls.open(tls.take())
            if (sealed := tls.seal()) and self.transport is not None:
                self.transport.write(sealed)
        except OSError as error:
            self._give_up(error, excessive=isinstance(error, TlsError))
            return
        if data:
            self._take(data)
        elif data is None and self.transport is not None:
            self.transport.abort()

    def _take(self, data: bytes) -> None:
        self.heard = (self.heard[0] if self.heard else self._arrived, self._arrived)
        self._sniff(data)
        self._backlog += data

    def _give_up(self, error: Exception, *, excessive: bool) -> None:
        self.excessive = excessive
        if self._reader is not None:
            self._reader.set_exception(error)
        self.abort()

    def _parse_portion(self) -> None:
        portion = bytes(self._backlog[:_PORTION])
        del self._backlog[:_PORTION]
        self._parsed += len(portion)
        super().data_received(portion)
        if self._done or self._reading_paused:  # paused: not all of it is parsed yet
            return
        body = self._reader.total_bytes if self._reader else 0
        if self._parsed - body > _OVERHEAD + body // 2:
            self._give_up(ClientPayloadError("more framing than body"), excessive=True)

    def _end(self) -> None:
        self.ended = self._arrived

    def _sniff(self, data: bytes) -> None:
        if self.status is None and len(self._start) < _STATUS_LINE_BYTES:
            self._start += data[:_STATUS_LINE_BYTES]
            if match := _STATUS_LINE.match(self._start):
                self.status = int(match[1])


def _is_last(message: RawResponseMessage) -> bool:
    return not _FIRST_INTERIM <= message.code <= _LAST_INTERIM or message.code == _SWITCHING


_HEAD_START_S: Final = 0.25  # of each address before the next


async def open_wire(url: URL, resolver: AbstractResolver | None, threads: Executor, *, checked: bool = False) -> Wire:
    """Return a connection to the host of `url` on which no request was sent yet.

    A cancelled call leaves none behind (OSError).

    Args:
        url: of http or https.
        resolver: None where there can be only literal addresses.
        threads: where a TLS handshake is done.
        checked: whether the host's certificate must be right: `Tls`.
    """
    loop = asyncio.get_running_loop()
    host, port = url.raw_host or "", url.port or 0
    addresses: list[tuple[int, str]]
    if is_literal(host):
        addresses = [(socket.AF_INET6 if ":" in host else socket.AF_INET, host)]
    elif resolver is None:
        raise OSError("a name, where only an address may be")
    else:
        addresses = [(one["family"], one["host"]) for one in await resolver.resolve(host, port, socket.AF_UNSPEC)]
    infos = [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (one, port)) for family, one in addresses]
    connection = await start_connection(infos, happy_eyeballs_delay=_HEAD_START_S)
    try:
        tls = Tls(host.rstrip("."), checked=checked) if url.scheme == "https" else None
        if tls is not None:
            await shake_hands(connection, tls, threads)
        _, wire = await loop.create_connection(lambda: Wire(loop, tls), sock=connection)
    except BaseException:
        connection.close()
        raise
    return wire


def is_literal(host: str) -> bool:
    """Return whether this is an address and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
