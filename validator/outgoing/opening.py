"""Opening the one connection of a call: to a literal address, or to the first that answers of a name's (RFC 8305)."""

import asyncio
import itertools
import socket
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import cache
from ipaddress import ip_address
from typing import Final, TypeVar

from aiohttp.abc import AbstractResolver
from yarl import URL

from validator.outgoing.wire import Wire

T = TypeVar("T")
_HEAD_START_S: Final = 0.25


async def open_wire(url: URL, resolver: AbstractResolver | None) -> Wire:
    """Return a connection to the host of `url` on which nothing was sent yet; a cancelled call leaves none behind.

    Args:
        url: with a literal address or a name, and a port.
        resolver: looks names up; None where there can be only literals.

    Raises:
        OSError: none came about.
    """
    host, port = url.raw_host or "", url.port or 0
    if _is_literal(host):
        return await _open_one(host, port, url)
    if resolver is None:
        raise OSError("a name, where only an address may stand")
    found = await resolver.resolve(host, port, socket.AF_UNSPEC)
    addresses = _by_turns([entry["host"] for entry in found])
    return await first_of(addresses, lambda address: _open_one(address, port, url), Wire.abort)


async def first_of(addresses: Sequence[str], connect: Callable[[str], Awaitable[T]], drop: Callable[[T], object]) -> T:
    """Return what `connect` returns first of the addresses; each is a quarter of a second ahead of the next.

    Args:
        addresses: at least one, the best first.
        connect: tried on each, as soon as the one before has failed.
        drop: called with what came about beside the first.

    Raises:
        OSError: all failed; that of the last one.
    """
    waiting, trying = list(addresses), set[asyncio.Future[T]]()
    failure: BaseException = OSError("no address")
    try:
        while waiting or trying:
            if waiting:
                trying.add(asyncio.ensure_future(connect(waiting.pop(0))))
            head_start = _HEAD_START_S if waiting else None
            done, trying = await asyncio.wait(trying, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
            won = [one for one in done if one.exception() is None]
            for one in won[1:]:
                drop(one.result())
            if won:
                return won[0].result()
            failure = next((error for error in (one.exception() for one in done) if error is not None), failure)
    finally:
        await _give_up(trying, drop)
    raise failure


async def _give_up(trying: Collection[asyncio.Future[T]], drop: Callable[[T], object]) -> None:
    for one in trying:
        one.cancel()
    if trying:
        await asyncio.wait(trying)
    for one in trying:
        if not one.cancelled() and one.exception() is None:
            drop(one.result())


async def _open_one(address: str, port: int, url: URL) -> Wire:
    loop = asyncio.get_running_loop()
    secure = url.scheme == "https"
    name = (url.raw_host or "").rstrip(".") if secure else None
    _, wire = await loop.create_connection(
        lambda: Wire(loop), address, port, ssl=_tls() if secure else None, server_hostname=name
    )
    return wire


@cache
def _tls() -> ssl.SSLContext:
    # Without certificate check: the request is signed for the receiver's hotkey and what counts in the answer is signed
    # by it, which no certificate authority could vouch for. TLS here keeps bystanders from reading.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.options |= ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(("http/1.1",))
    return context


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _by_turns(addresses: Sequence[str]) -> list[str]:
    """Return the addresses with their families by turns, that of the first one first."""
    first = ":" in addresses[0]
    own = [one for one in addresses if (":" in one) is first]
    other = [one for one in addresses if (":" in one) is not first]
    return [one for pair in itertools.zip_longest(own, other) for one in pair if one is not None]
