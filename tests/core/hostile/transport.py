"""Hostile transport that aiohttp's own server can be brought to: sizes, times, statuses, broken connections."""

import asyncio
import gzip

from aiohttp import web

from hostile.kinds import ACCEPTED, SCHEMA, Case, Made, kind
from sssa.protocol.limits import MIB
from sssa.protocol.reasons import Reason

_MARGIN_S = 1.0


@kind("transport", "answer", Reason.PARSE_TOO_LARGE)
async def hundred_megabytes(case: Case) -> Made:
    """A hundred megabytes of spaces without an announced length."""
    response = web.StreamResponse()
    await response.prepare(case.request)
    try:
        for _ in range(100):
            await response.write(b" " * MIB)
    except OSError:
        pass  # the validator hung up, as it should
    return response


@kind("transport", "answer", Reason.PARSE_TOO_LARGE)
async def a_terabyte_announced(case: Case) -> Made:
    """A Content-Length of a terabyte."""
    response = web.StreamResponse(headers={"Content-Length": str(10**12)})
    await response.prepare(case.request)
    return response


@kind("transport", "answer", Reason.DEADLINE_LATE, waits=True)
async def drip(case: Case) -> Made:
    """One byte every two seconds."""
    response = web.StreamResponse()
    await response.prepare(case.request)
    try:
        for byte in b'{"sssa":' * 99:
            await response.write(bytes([byte]))
            await asyncio.sleep(2)
    except OSError:
        pass
    return response


@kind("transport", "answer", Reason.DEADLINE_LATE, waits=True)
async def silence(case: Case) -> Made:
    """The request is taken, nothing ever comes back."""
    await asyncio.sleep(case.dispatch.deadline_s + _MARGIN_S)
    return web.Response()


@kind("transport", "answer", Reason.DEADLINE_LATE, waits=True)
async def last_byte_late(case: Case) -> Made:
    """All of the answer but its last byte at once, that byte after the deadline."""
    response = web.StreamResponse(headers={"Content-Length": str(len(case.body))})
    await response.prepare(case.request)
    try:
        await response.write(case.body[:-1])
        await asyncio.sleep(case.dispatch.deadline_s + _MARGIN_S)
        await response.write(case.body[-1:])
    except OSError:
        pass
    return response


@kind("transport", "answer", Reason.ACCEPTED_EARLY)
async def early(case: Case) -> Made:
    """The right answer before t_min."""
    return case.body


@kind("transport", "answer", Reason.DEADLINE_TRANSPORT)
async def cut_off(case: Case) -> Made:
    """A connection that is reset within the body."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(case.request)
    await response.write(b"{")
    if case.request.transport is not None:
        case.request.transport.abort()
    return response


@kind("transport", "answer", Reason.DEADLINE_TRANSPORT)
async def reset(case: Case) -> Made:
    """A connection that is reset before the first byte."""
    if case.request.transport is not None:
        case.request.transport.abort()
    return web.Response()


@kind("transport", "answer", Reason.DEADLINE_STATUS)
async def other_status(case: Case) -> Made:
    """204, 404, 500 or 503."""
    return web.Response(status=case.rng.choice([204, 404, 500, 503]))


@kind("transport", "answer", Reason.DEADLINE_STATUS)
async def redirect(case: Case) -> Made:
    """A redirect into the validator's own network."""
    status = case.rng.choice([301, 302, 303, 307, 308])
    place = case.rng.choice(["http://127.0.0.1:1/", "http://169.254.169.254/latest/", "file:///etc/passwd", "//x"])
    return web.Response(status=status, headers={"Location": place})


@kind("transport", "answer", SCHEMA)
async def compressed(case: Case) -> Made:
    """A body in gzip that says so: nothing is inflated."""
    return web.Response(body=gzip.compress(case.body), headers={"Content-Encoding": "gzip"})


@kind("transport", "answer", SCHEMA)
async def compressed_bomb(case: Case) -> Made:
    """A hundred megabytes in a hundred kilobytes of gzip."""
    return web.Response(body=gzip.compress(b" " * (100 * MIB), 1), headers={"Content-Encoding": "gzip"})


@kind("transport", "answer", SCHEMA, Reason.PARSE_TOO_DEEP)
async def noise(case: Case) -> Made:
    """Random bytes, or none."""
    return case.rng.randbytes(case.rng.choice([0, 1, 100, 300_000]))


@kind("transport", "answer", ACCEPTED)
async def header_injection(case: Case) -> Made:
    """Cookies, links and lengths of other things in the headers of a right answer."""
    headers = {"Set-Cookie": "a=b; Path=/", "Link": "<http://127.0.0.1/>; rel=preload", "X-Content-Length": "0"}
    return web.Response(body=case.body, headers=headers)
