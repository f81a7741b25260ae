"""One request and its response: open, sign, send, collect, and say what came of it (SPEC 5 gate 1, SPEC 13)."""

import asyncio
import io
from concurrent.futures import Executor
from typing import Final

from aiohttp import (
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
)
from aiohttp.abc import AbstractResolver
from yarl import URL

from validator.outgoing.blame import cause_of
from validator.outgoing.body import Spool
from validator.outgoing.calls import Call, Reply, Sent
from validator.outgoing.signing import RequestSigner
from validator.outgoing.wire import OneCallConnector
from validator.protocol.reasons import Reason
from validator.protocol.text import printable

_OK: Final = 200
_MAX_LINE: Final = 8_190  # bytes of a status line or a header field
_MAX_HEADERS: Final = 64
_READ_AHEAD: Final = 64 * 1024  # bytes; at most a little over twice as much waits unread
_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # nothing is inflated (SPEC 13)
    "User-Agent": "sssa-validator",
}


class Exchange:
    """One call on one fresh connection. Used once.

    Args:
        method: POST or GET; a GET carries no body.
        call: what to send, to whom, and the bounds.
        sent: see `Sent`.
        signer: makes the authentication headers, in `threads`.
        threads: for hashing and signing.
        spool: collects the body.
        resolver: looks host names up, None for the system's way.
    """

    def __init__(  # noqa: PLR0913 - a call's own facts and the client's helpers
        self,
        method: str,
        call: Call,
        sent: Sent | None,
        *,
        signer: RequestSigner,
        threads: Executor,
        spool: Spool,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._method = method
        self._call = call
        self._body = call.body if method == "POST" else b""
        self._sent = sent
        self._signer = signer
        self._threads = threads
        self._spool = spool
        self._loop = asyncio.get_running_loop()
        self._connector = OneCallConnector(self._connected, resolver)
        self._bound = asyncio.timeout(None)
        self._began: float | None = None
        self._started: float | None = None
        self._fault: BaseException | None = None

    @property
    def answered(self) -> bool:
        """Whether any byte of a response has arrived."""
        return self._connector.wire is not None and self._connector.wire.heard is not None

    async def run(self, url: URL, connect_timeout_s: float) -> Reply:
        """Return what came of the call to `url`.

        Raises:
            CancelledError: and whatever `sent` raises.
        """
        self._began = self._loop.time()
        try:
            async with _session(self._connector) as session:
                response = await self._open(session, url, connect_timeout_s)
                try:
                    return await self._collect(response)
                finally:
                    response.close()
        except Exception as error:  # noqa: BLE001 - whatever aiohttp makes of hostile bytes is the peer's failure
            if self._fault is not None:
                raise self._fault from None
            return self._broken(error, url)

    async def _open(self, session: ClientSession, url: URL, connect_timeout_s: float) -> ClientResponse:
        """Return the response once its head is here."""
        headers, data = _HEADERS, None
        if self._method == "POST":
            headers, data = headers | {"Content-Type": "application/json"}, io.BytesIO(self._body)
        async with asyncio.timeout(connect_timeout_s) as self._bound:
            return await session.request(self._method, url, data=data, headers=headers, allow_redirects=False)

    async def _connected(self, request: ClientRequest) -> None:
        """Sign, then start the miner's clock: nothing before that is on its time."""
        self._bound.reschedule(None)
        try:
            if self._sent is not None:
                await self._sent()
            call = self._call
            headers = await self._loop.run_in_executor(
                self._threads, self._signer.headers, self._method, call.path, self._body, call.hotkey
            )
        except BaseException as error:
            self._fault = error
            raise
        request.headers.update(headers)
        self._started = self._loop.time()
        self._bound.reschedule(self._started + self._call.deadline_s)

    async def _collect(self, response: ClientResponse) -> Reply:
        """Read the body up to its limit; the deadline bounds the waiting, the moment of the last byte decides."""
        limit, spool = self._call.limit, self._spool
        if response.status != _OK:
            return self._failed(Reason.DEADLINE_STATUS, f"status {response.status}")
        if (announced := response.content_length or 0) > limit:
            return self._failed(Reason.PARSE_TOO_LARGE, f"{announced} bytes announced, at most {limit}")
        while chunk := await self._next_chunk(response):
            if spool.size + len(chunk) > limit:
                return self._failed(Reason.PARSE_TOO_LARGE, f"more than {limit} bytes")
            await spool.write(chunk)
        seconds = self._seconds_to_end()
        if seconds > self._call.deadline_s:
            return self._failed(Reason.DEADLINE_LATE, f"after {seconds:.3f} s", complete=True)
        raw = spool.raw(complete=True)
        return Reply(None, response.status, seconds, spool.finish(), "", self._sending, self._heard, raw=raw)

    async def _next_chunk(self, response: ClientResponse) -> bytes:
        if self._started is None:
            raise ClientPayloadError("a response without a request")
        async with asyncio.timeout_at(self._started + self._call.deadline_s):
            return await response.content.readany()

    def _seconds_to_end(self) -> float:
        wire = self._connector.wire
        if wire is None or wire.ended is None or self._started is None:
            raise ClientPayloadError("the body never ended")
        return wire.ended - self._started

    def _broken(self, error: Exception, url: URL) -> Reply:
        """Return the failure that an exception on the way means."""
        cause = cause_of(error, ipv6=":" in (url.host or ""))
        if cause == "resources":
            return self._failed(Reason.LOCAL_RESOURCES, f"{type(error).__name__}: {error}")
        if isinstance(error, TimeoutError):
            connected = self._started is not None
            return self._failed(Reason.DEADLINE_LATE if connected else Reason.DEADLINE_CONNECT, "time is up")
        wire = self._connector.wire
        if wire is not None and wire.excessive:
            return self._failed(Reason.DEADLINE_TRANSPORT, "headers or framing outweigh the body")
        reason = Reason.DEADLINE_CONNECT if self._started is None else Reason.DEADLINE_TRANSPORT
        said = error.message if isinstance(error, ClientResponseError) else error  # else it shows aiohttp's own status
        return self._failed(reason, f"{type(error).__name__}: {said}", no_route=cause == "route")

    @property
    def _sending(self) -> float | None:
        return self._began if self._started is None else self._started

    @property
    def _heard(self) -> tuple[float, float] | None:
        return None if self._connector.wire is None else self._connector.wire.heard

    def _failed(self, reason: Reason, detail: str, *, no_route: bool = False, complete: bool = False) -> Reply:
        raw = self._spool.raw(complete=complete) if complete or self._spool.size else None
        self._spool.discard()
        seconds = None if self._started is None else self._loop.time() - self._started
        status = None if self._connector.wire is None else self._connector.wire.status
        return Reply(reason, status, seconds, None, printable(detail), self._sending, self._heard, no_route, raw)


def _session(connector: OneCallConnector) -> ClientSession:
    return ClientSession(
        connector=connector,
        timeout=ClientTimeout(total=None),  # ours apply
        cookie_jar=DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        read_bufsize=_READ_AHEAD,
        max_line_size=_MAX_LINE,
        max_field_size=_MAX_LINE,
        max_headers=_MAX_HEADERS,
    )
