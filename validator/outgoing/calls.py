"""A call and its result, bodies that spill to a temporary file, and failures caused on this machine (D-26)."""

import asyncio
import errno
import hashlib
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Literal, Self

from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from sssa.protocol.round import Axon
from validator.outgoing.stalls import StallsSince, no_stalls

MEMORY_LIMIT: Final = 256 * 1024  # bytes of one body in memory


class SpoolError(ValidatorError):
    """The temporary file of a response body could not be written: free disk space or check the spool folder."""


class Body:
    """A received body: a file with the first part of large ones, and the rest. Close it when done.

    Its file vanishes.
    """

    def __init__(self, data: bytes, file: IO[bytes] | None = None, size: int | None = None) -> None:
        self._data = data
        self._file = file
        self.size: int = len(data) if size is None else size

    def read(self) -> bytes:
        """Return the whole body. Reads a file when it is large: call it off the event loop then."""
        if self._file is None:
            return self._data
        self._file.seek(0)
        return self._file.read() + self._data

    def close(self) -> None:
        """Free memory and file; `read` returns nothing afterwards."""
        self._data = b""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Spool:
    """One body while it arrives; whole blocks are hashed and written in `threads`, never on the event loop."""

    def __init__(self, threads: Executor, folder: Path | None = None) -> None:
        self._threads = threads
        self._folder = folder
        self._buffer = bytearray()
        self._file: IO[bytes] | None = None
        self._hash = hashlib.sha256()
        self.size = 0

    async def write(self, chunk: bytes) -> None:
        """Take the next bytes (SpoolError: the file cannot be written)."""
        self._buffer += chunk
        self.size += len(chunk)
        if len(self._buffer) > MEMORY_LIMIT:
            block, self._buffer = self._buffer, bytearray()
            await self._write_off_loop(block)

    def raw(self, *, complete: bool) -> RawAnswer:
        """Return the permanent facts of the bytes so far; call it before `finish` and `discard`."""
        whole = self._hash.copy()
        whole.update(self._buffer)
        return RawAnswer(whole.hexdigest(), self.size, complete)

    def finish(self) -> Body:
        """Return the body; the spool is done."""
        file, self._file = self._file, None
        return Body(bytes(self._buffer), file, self.size)

    def discard(self) -> None:
        """Discard the bytes."""
        self._buffer.clear()
        if self._file is not None:
            self._file.close()

    async def _write_off_loop(self, block: bytearray) -> None:
        writing = asyncio.get_running_loop().run_in_executor(self._threads, self._append, block)
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # the file must not be closed under the thread's hands
            raise
        except OSError as error:
            raise SpoolError(error.strerror or type(error).__name__) from error

    def _append(self, block: bytearray) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115 - the Body closes it
        self._hash.update(block)
        view = memoryview(block)
        while view:
            view = view[self._file.write(view) :]


Sent = Callable[[], Awaitable[None]]
"""Awaited once, when the connection is open and before the first byte goes out; its time does not count for the
miner. What it raises comes out of the call."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one hotkey.

    Attributes:
        hotkey: the receiver, to which the request is bound.
        axon: where it listens, None if the metagraph names nothing.
        path: request target with query, as signed and sent.
        body: request body, or what begins it; shared between calls.
        deadline_s: seconds from the first byte sent to the last byte received, without those of stalls.
        limit: most bytes of the response body.
        sha256: hex digest of `whole` where anyone who shares it between calls has it; None: it is made for this call.
        tail: what ends the request body, shared between more calls than `body` is.
        stalls: tells when the validator stood still, which is on nobody's time.
    """

    hotkey: str
    axon: Axon | None
    path: str
    body: bytes
    deadline_s: float
    limit: int
    sha256: str | None = None
    tail: bytes = b""
    stalls: StallsSince = no_stalls

    @property
    def whole(self) -> bytes:
        """All of the request body."""
        return self.body + self.tail


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of a call.

    Attributes:
        reason: None when a 200 body arrived whole, within limit and deadline; else a gate 1 code or
            `PARSE_TOO_LARGE`, or `LOCAL_RESOURCES` when this machine ran out of something before the body was kept.
        status: of the response, whenever any response line arrived (D-6), else None.
        seconds: from the first byte sent to the last byte received, or to the failure; None when nothing was sent.
        body: what arrived, where `reason` is None; anyone who gets the reply closes it.
        detail: one harmless line about a failure, empty otherwise.
        sending: when the first byte was sent, or where none was, when connecting began; None where it never did.
            A moment of the monotonic clock, as are those of `heard`.
        heard: when the first and the newest byte of a response arrived; None where none did.
        no_route: whether it failed for want of a route or of name service, here or at the peer's.
        raw: of the bytes of the body that arrived, also where it failed; None where none did (SPEC 16, D-28).
        ended: when the other side ended the connection before its response was whole; None where it did not.
    """

    reason: Reason | None
    status: int | None
    seconds: float | None
    body: Body | None
    detail: str
    sending: float | None = None
    heard: tuple[float, float] | None = None
    no_route: bool = False
    raw: RawAnswer | None = None
    ended: float | None = None


Cause = Literal["resources", "route"]
"""`resources`: for certain ours. `route`: no route or no name service; a peer that is away looks the same."""

_RESOURCES: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.ENOSPC, errno.EDQUOT}  # none has an ICMP message
)
_ROUTE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
_NO_THREAD: Final = "can't start new thread"


def cause_of(error: BaseException, *, ipv6: bool) -> Cause | None:
    """Return what on this machine may have caused a failure, by the chain of its exceptions; None for nothing."""
    causes = {_own_cause(each, ipv6=ipv6) for each in _chain(error)}
    if "resources" in causes:
        return "resources"
    return "route" if "route" in causes else None


def _own_cause(error: BaseException, *, ipv6: bool) -> Cause | None:
    if isinstance(error, MemoryError | SpoolError) or (isinstance(error, RuntimeError) and _NO_THREAD in str(error)):
        return "resources"
    if isinstance(error, socket.gaierror):
        return "route"
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.EADDRNOTAVAIL:
        # No port is left; or this machine has no IPv6 address, which anyone who announces an IPv6 axon may count on.
        return "route" if ipv6 else "resources"
    if error.errno in _RESOURCES:
        return "resources"
    return "route" if error.errno in _ROUTE else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it was raised from or wraps, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        inner = [
            each.__cause__,
            None if each.__suppress_context__ else each.__context__,
            getattr(each, "os_error", None),
        ]
        inner += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        waiting += [one for one in inner if isinstance(one, BaseException)]
