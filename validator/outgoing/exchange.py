"""One signed request and its response: opens, signs, sends, collects, names the result (SPEC 5 gate 1, SPEC 13)."""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Final

from aiohttp import ClientPayloadError
from aiohttp.abc import AbstractResolver
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from yarl import URL

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.sources import system_ns
from validator.outgoing.calls import Call, Reply, Sent, Spool, cause_of
from validator.outgoing.stalls import overlap, own_time
from validator.outgoing.wire import Wire, open_wire

_FIELDS: Final = (
    "Accept: application/json",
    "Accept-Encoding: identity",  # nothing is inflated (SPEC 13)
    "User-Agent: sssa-validator",
)
_TARGET: Final = re.compile(r"/[!-~]*")
_HOST: Final = re.compile(r"[!-~]+")


def head_of(method: str, url: URL, path: str, size: int, signed: Mapping[str, str]) -> bytes:
    """Return the head of a request; a GET has no body (ValueError: host or path do not fit into a line)."""
    host = url.host_port_subcomponent or ""
    if not _TARGET.fullmatch(path) or not _HOST.fullmatch(host):
        raise ValueError("host or path of the request cannot be sent")
    body = ("Content-Type: application/json", f"Content-Length: {size}") if method == "POST" else ()
    own = (f"{name}: {value}" for name, value in signed.items())
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", *_FIELDS, *body, *own, "Connection: close", "", "")
    return "\r\n".join(lines).encode("ascii")


EMPTY_SHA256: Final = sha256_hex(b"")
"""Of the body of a GET."""
_CLOCK_STEP_NS: Final = 1_000_000_000
_PROTOCOL: Final = "btauth/1"
_VERSION: Final = "1"
_DEFAULT: Final = "sr25519"
_NONCE: Final = "X-Bittensor-Nonce"


class Nonces:
    """Nanosecond nonces, unique and increasing even when the clock stops within a tick.

    After the clock was set back by more than a second the nonces follow it: miners refuse what is dated more than two
    seconds ahead.
    """

    def __init__(self, time_ns: Callable[[], int] = system_ns) -> None:
        self._time_ns = time_ns
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        """Return a nonce that was not given out before."""
        with self._lock:
            now = self._time_ns()
            behind = self._last - now
            self._last = self._last + 1 if 0 <= behind <= _CLOCK_STEP_NS else now
            return self._last


class RequestSigner:
    """Signatures of requests with the validator's hotkey, always bound to the receiver."""

    def __init__(self, signer: Signer, time_ns: Callable[[], int] = system_ns) -> None:
        self._signer = signer
        self._nonces = Nonces(time_ns)
        self._crypto = {} if signer.crypto == _DEFAULT else {"X-Bittensor-Crypto": signer.crypto}

    def headers(self, method: str, path: str, body_sha256: str, receiver: str) -> dict[str, str]:
        """Return the headers for one try of one request; takes about 40 µs and holds the interpreter's lock.

        The path is the request target with query, as sent; `receiver` is the hotkey that it is for.
        """
        nonce = str(self._nonces.next())
        signed = (_PROTOCOL, self._signer.crypto, method, path, body_sha256, nonce, self._signer.hotkey, receiver)
        signature = self._signer.sign("\n".join(signed).encode())
        return {
            "X-Bittensor-Version": _VERSION,
            "X-Bittensor-Hotkey": self._signer.hotkey,
            _NONCE: nonce,
            "X-Bittensor-Signature": signature,
            **self._crypto,
            "X-Bittensor-Receiver": receiver,
        }


_OK: Final = 200
_INLINE: Final = 64 * 1024  # bytes of a body that are hashed and written at once


@dataclass(eq=False)
class Exchange:
    """One call on one fresh connection. Used once.

    `threads` hash; large bodies go to `spool_folder`, None for the system's; the resolver is None where there are only
    addresses; with `checked` the peer's certificate must be right.

    Attributes:
        nonce: of the request, once it is signed.
    """

    method: str
    call: Call
    sent: Sent | None = None
    _: KW_ONLY
    signer: RequestSigner
    threads: Executor
    spool_folder: Path | None = None
    resolver: AbstractResolver | None = None
    checked: bool = False
    nonce: str = field(init=False, default="")
    _wire: Wire | None = field(init=False, default=None)
    _began: float | None = field(init=False, default=None)
    _started: float | None = field(init=False, default=None)
    _fault: BaseException | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._pieces = (self.call.body, self.call.tail) if self.method == "POST" else ()
        self._size = sum(map(len, self._pieces))
        self._spool = Spool(self.threads, self.spool_folder)
        self._loop = asyncio.get_running_loop()

    @property
    def answered(self) -> bool:
        """True if any byte of a response has arrived."""
        return self._wire is not None and self._wire.heard is not None

    async def run(self, url: URL, connect_timeout_s: float) -> Reply:
        """Return the result of the call to `url` (raises what `sent` raises, and CancelledError)."""
        self._began = self._loop.time()
        writing: asyncio.Future[None] | None = None
        try:
            async with own_time(connect_timeout_s, self.call.stalls, self._began):
                wire = self._wire = await open_wire(url, self.resolver, self.threads, checked=self.checked)
            head = await self._ready(url)
            writing = await self._send(wire, head)
            return await self._collect(*await self._answer(wire))
        except Exception as error:  # noqa: BLE001 - whatever aiohttp makes of hostile bytes is the peer's failure
            if self._fault is not None:
                raise self._fault from None
            return self._broken(error, url)
        finally:
            if writing is not None:
                writing.cancel()
            if self._wire is not None:
                self._wire.abort()
            self._spool.discard()

    async def _ready(self, url: URL) -> bytes:
        """Return the signed head: nothing before this is on the miner's time."""
        call = self.call
        try:
            if self.sent is not None:
                await self.sent()
            digest = await self._digest()
            # Here and not in a thread: what it costs holds the interpreter's lock, there as here.
            signed = self.signer.headers(self.method, call.path, digest, call.hotkey)
            self.nonce = signed[_NONCE]
        except BaseException as error:
            self._fault = error
            raise
        return head_of(self.method, url, call.path, self._size, signed)

    async def _digest(self) -> str:
        if self.method != "POST":
            return EMPTY_SHA256
        if self.call.sha256 is not None:
            return self.call.sha256
        if self._size <= _INLINE:
            return sha256_hex(self.call.whole)
        return await self._loop.run_in_executor(self.threads, lambda: sha256_hex(self.call.whole))

    async def _send(self, wire: Wire, head: bytes) -> "asyncio.Future[None] | None":
        """Start the miner's clock and write; return the open write of a large body, which an answer may precede."""
        self._started = self._loop.time()
        wire.expect_response()
        if self._size <= _INLINE:
            await wire.write(b"".join((head, *self._pieces)))
            return None
        await wire.write(head)
        return asyncio.ensure_future(self._write_body(wire))

    async def _write_body(self, wire: Wire) -> None:
        for piece in self._pieces:
            await wire.write(piece)

    async def _answer(self, wire: Wire) -> tuple[RawResponseMessage, StreamReader]:
        """Return the head of the response, and its body as a stream."""
        async with self._in_time():
            return await wire.response()

    async def _collect(self, response: RawResponseMessage, content: StreamReader) -> Reply:
        """Read the body up to its limit; the deadline bounds the waiting, the moment of the last byte decides."""
        limit, spool = self.call.limit, self._spool
        if response.code != _OK:
            return self._failed(Reason.DEADLINE_STATUS, f"status {response.code}")
        if (announced := int(response.headers.get("Content-Length", 0))) > limit:
            return self._failed(Reason.PARSE_TOO_LARGE, f"{announced} bytes announced, at most {limit}")
        while chunk := await self._next_chunk(content):
            if spool.size + len(chunk) > limit:
                return self._failed(Reason.PARSE_TOO_LARGE, f"more than {limit} bytes")
            await spool.write(chunk)
        started, seconds = self._seconds_to_end()
        if seconds - overlap(self.call.stalls(started), started, started + seconds) > self.call.deadline_s:
            return self._failed(Reason.DEADLINE_LATE, f"after {seconds:.3f} s", complete=True)
        raw = spool.raw(complete=True)
        return Reply(None, response.code, seconds, spool.finish(), "", self._sending, self._heard, raw=raw)

    async def _next_chunk(self, content: StreamReader) -> bytes:
        async with self._in_time():
            return await content.readany()

    def _in_time(self) -> AbstractAsyncContextManager[None]:
        if self._started is None:
            raise ClientPayloadError("a response without a request")
        return own_time(self.call.deadline_s, self.call.stalls, self._started)

    def _seconds_to_end(self) -> tuple[float, float]:
        """Return when the first byte was sent, and the seconds from then to the last byte received."""
        if self._wire is None or self._wire.ended is None or self._started is None:
            raise ClientPayloadError("the body never ended")
        return self._started, self._wire.ended - self._started

    def _broken(self, error: Exception, url: URL) -> Reply:
        """Return the reply for an exception."""
        cause = cause_of(error, ipv6=":" in (url.host or ""))
        if cause == "resources":
            return self._failed(Reason.LOCAL_RESOURCES, f"{type(error).__name__}: {error}")
        if isinstance(error, TimeoutError):
            connected = self._started is not None
            return self._failed(Reason.DEADLINE_LATE if connected else Reason.DEADLINE_CONNECT, "time is up")
        if self._wire is not None and self._wire.excessive:
            return self._failed(Reason.DEADLINE_TRANSPORT, "headers, framing or TLS outweigh the body")
        reason = Reason.DEADLINE_CONNECT if self._started is None else Reason.DEADLINE_TRANSPORT
        shown = error.message if isinstance(error, HttpProcessingError) else error  # else it shows aiohttp's own status
        reply = self._failed(reason, f"{type(error).__name__}: {shown}", no_route=cause == "route")
        return reply if isinstance(error, HttpProcessingError) else replace(reply, ended=self._lost(error))

    def _lost(self, error: Exception) -> float | None:
        """Return when the other side ended the connection or the handshake; None if it did not."""
        if self._wire is not None:
            return self._wire.lost
        return self._loop.time() if isinstance(error, ConnectionResetError) else None

    @property
    def _sending(self) -> float | None:
        return self._began if self._started is None else self._started

    @property
    def _heard(self) -> tuple[float, float] | None:
        return None if self._wire is None else self._wire.heard

    def _failed(self, reason: Reason, detail: str, *, no_route: bool = False, complete: bool = False) -> Reply:
        raw = self._spool.raw(complete=complete) if complete or self._spool.size else None
        seconds = None if self._started is None else self._loop.time() - self._started
        status = None if self._wire is None else self._wire.status
        return Reply(reason, status, seconds, None, printable(detail), self._sending, self._heard, no_route, raw)
