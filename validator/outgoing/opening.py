"""Opening the one connection of a call: to a literal address, or to the first that answers of a name's (RFC 8305)."""

import asyncio
import socket
import ssl
from functools import cache
from ipaddress import ip_address
from typing import Any, Final

from aiohappyeyeballs import start_connection
from aiohttp.abc import AbstractResolver
from yarl import URL

from validator.outgoing.wire import Wire

_HEAD_START_S: Final = 0.25  # of each address before the next


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
        return await _open(url, host=host, port=port)
    if resolver is None:
        raise OSError("a name, where only an address may stand")
    found = await resolver.resolve(host, port, socket.AF_UNSPEC)
    infos = [
        (entry["family"], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (entry["host"], entry["port"])) for entry in found
    ]
    return await _open(url, sock=await start_connection(infos, happy_eyeballs_delay=_HEAD_START_S))


async def _open(url: URL, **where: Any) -> Wire:
    loop = asyncio.get_running_loop()
    if url.scheme == "https":
        where |= {"ssl": _tls(), "server_hostname": (url.raw_host or "").rstrip(".")}
    _, wire = await loop.create_connection(lambda: Wire(loop), **where)
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
