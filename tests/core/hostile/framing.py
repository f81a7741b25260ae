"""Hostile HTTP below the level of any server: raw bytes on the connection."""

import asyncio
from collections.abc import Iterator

from aiohttp import web

from hostile.kinds import ACCEPTED, SCHEMA, Case, Made, kind
from hostile.strings import INJECTIONS
from sssa.protocol.reasons import Reason

_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_FLOOD = 200_000  # bytes a go; the floods send a hundred of them
_BROKEN = (Reason.DEADLINE_TRANSPORT,)


async def raw(case: Case, parts: Iterator[bytes] | list[bytes], *, stay: bool = False) -> Made:
    """Write raw bytes until they are all sent or the peer hangs up; then close, or stay until the deadline."""
    transport, protocol = case.request.transport, case.request.protocol
    try:
        for part in parts:
            if transport is None or transport.is_closing():
                break
            transport.write(part)
            await protocol._drain_helper()
        if stay:
            await asyncio.sleep(case.dispatch.deadline_s + 1)
    except OSError:
        pass
    if transport is not None:
        transport.close()
    return web.Response()


def head(*lines: bytes, status: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join((status, *lines, b"", b""))


def times(part: bytes, size: int = _FLOOD * 100) -> Iterator[bytes]:
    """A flood: `part` again and again."""
    block = part * max(1, _FLOOD // len(part))
    for _ in range(max(1, size // len(block))):
        yield block


@kind("framing", "answer", Reason.DEADLINE_LATE, waits=True)
async def slow_headers(case: Case) -> Made:
    """A header every second, without end."""
    transport = case.request.transport
    if transport is not None:
        transport.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(int(case.dispatch.deadline_s) + 2):
            if transport.is_closing():
                break
            transport.write(b"X-%d: a\r\n" % number)
            await asyncio.sleep(1)
        transport.close()
    return web.Response()


@kind("framing", "answer", *_BROKEN, dear=True)
async def hundred_thousand_headers(case: Case) -> Made:
    """A hundred thousand headers."""
    return await raw(case, [b"HTTP/1.1 200 OK\r\n", *(b"X-%d: a\r\n" % i * 100 for i in range(1_000)), b"\r\n"])


@kind("framing", "answer", *_BROKEN)
async def one_header_of_megabytes(case: Case) -> Made:
    """One header of two megabytes."""
    return await raw(case, [b"HTTP/1.1 200 OK\r\nX: ", *times(b"a", 2_000_000), b"\r\n\r\n"])


@kind("framing", "answer", *_BROKEN)
async def endless_status_line(case: Case) -> Made:
    """A status line of two megabytes."""
    return await raw(case, [b"HTTP/1.1 200 ", *times(b"O", 2_000_000)])


@kind("framing", "answer", *_BROKEN, dear=True)
async def interim_flood(case: Case) -> Made:
    """100, 102 and 103 responses without end, never the final one."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
    parts = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + hints
    return await raw(case, times(parts))


@kind("framing", "answer", *_BROKEN, dear=True)
async def chunk_extensions(case: Case) -> Made:
    """Chunks of one byte with extensions of kilobytes."""
    return await raw(case, [_CHUNKED, *times(b"1;" + b"a=b;" * 1_000 + b"\r\n \r\n")])


@kind("framing", "answer", *_BROKEN, dear=True)
async def chunks_of_one_byte(case: Case) -> Made:
    """A body in chunks of one byte each."""
    return await raw(case, [_CHUNKED, *times(b"1\r\n \r\n")])


@kind("framing", "answer", Reason.PARSE_TOO_LARGE, dear=True)
async def endless_chunks(case: Case) -> Made:
    """Chunks of a hundred bytes without end."""
    return await raw(case, [_CHUNKED, *times(b"64\r\n" + b" " * 100 + b"\r\n", 40_000_000)])


@kind("framing", "answer", *_BROKEN, dear=True)
async def trailer_flood(case: Case) -> Made:
    """A small body, then trailers without end."""
    return await raw(case, [_CHUNKED, b"2\r\n{}\r\n0\r\n", *times(b"X-Trailer: a\r\n")])


@kind("framing", "answer", *_BROKEN)
async def wrong_chunk_size(case: Case) -> Made:
    """Chunk sizes that are negative, of a hundred digits, or no numbers."""
    size = case.rng.choice([b"-1", b"F" * 100, b"0x10", b"zz", b"1 2"])
    return await raw(case, [_CHUNKED, size + b"\r\nabc\r\n"])


@kind("framing", "answer", *_BROKEN)
async def length_too_long(case: Case) -> Made:
    """A Content-Length of a byte more than comes."""
    return await raw(case, [head(b"Content-Length: %d" % (len(case.body) + 1)), case.body])


@kind("framing", "answer", SCHEMA, *_BROKEN)
async def length_too_short(case: Case) -> Made:
    """A Content-Length of a byte less than comes."""
    return await raw(case, [head(b"Content-Length: %d" % (len(case.body) - 1)), case.body])


@kind("framing", "answer", *_BROKEN)
async def two_lengths(case: Case) -> Made:
    """Two Content-Length headers that differ."""
    return await raw(case, [head(b"Content-Length: 2", b"Content-Length: %d" % len(case.body)), case.body])


@kind("framing", "answer", *_BROKEN)
async def negative_length(case: Case) -> Made:
    """A Content-Length that is no number of bytes."""
    length = case.rng.choice([b"-1", b"1e3", b"+5", b"0x10", b"9" * 400])
    return await raw(case, [head(b"Content-Length: " + length), case.body])


@kind("framing", "answer", *_BROKEN)
async def length_and_chunks(case: Case) -> Made:
    """Both a Content-Length and chunks, as requests are smuggled."""
    lines = head(b"Content-Length: 5", b"Transfer-Encoding: chunked")
    return await raw(case, [lines, b"%x\r\n" % len(case.body), case.body, b"\r\n0\r\n\r\n"])


@kind("framing", "answer", ACCEPTED, *_BROKEN)
async def second_response(case: Case) -> Made:
    """The right answer, and behind it a second response and a megabyte of noise."""
    own = [head(b"Content-Length: %d" % len(case.body)), case.body]
    return await raw(case, [*own, head(b"Content-Length: 2"), b"{}", *times(b"\x00\xff", 1_000_000)])


@kind("framing", "answer", ACCEPTED)
async def body_until_the_end(case: Case) -> Made:
    """The right answer without a length, ended by closing the connection: legal."""
    return await raw(case, [head(status=b"HTTP/1.0 200 OK"), case.body])


@kind("framing", "answer", *_BROKEN)
async def tls_on_the_plain_port(case: Case) -> Made:
    """A TLS alert where HTTP is spoken."""
    return await raw(case, [b"\x15\x03\x01\x00\x02\x02\x46" + case.rng.randbytes(500)])


@kind("framing", "answer", *_BROKEN)
async def no_http(case: Case) -> Made:
    """A banner of another protocol, an old HTTP without headers, NUL bytes, or bytes that are no text."""
    banners = [b"SSH-2.0-OpenSSH_9.6\r\n", b"{}\r\n", b"\x00" * 1_000, b"HTTP/9.9 200 OK\r\n\r\n", b"\xff\xfe\r\n\r\n"]
    return await raw(case, [case.rng.choice(banners)])


@kind("framing", "answer", Reason.DEADLINE_STATUS, Reason.DEADLINE_TRANSPORT)
async def strange_status(case: Case) -> Made:
    """Statuses that do not exist, and one that switches protocols."""
    status = case.rng.choice([b"HTTP/1.1 999 ?", b"HTTP/1.1 101 Switching Protocols", b"HTTP/1.1 000 x"])
    return await raw(case, [head(b"Upgrade: h2c", b"Connection: Upgrade", b"Content-Length: 0", status=status)])


@kind("framing", "answer", Reason.DEADLINE_STATUS, Reason.DEADLINE_TRANSPORT)
async def injected_headers(case: Case) -> Made:
    """A reason phrase and headers full of control characters."""
    evil = case.rng.choice(INJECTIONS).encode("utf-8", "surrogatepass").replace(b"\r", b"").replace(b"\n", b" ")
    return await raw(case, [head(b"X: " + evil, b"Content-Length: 0", status=b"HTTP/1.1 500 " + evil)])
