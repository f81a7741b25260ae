"""Addresses that the validator connects to: announced on chain, or looked up for the host name of a service.

An axon is a stranger's wish that we open a connection. Without a guard it could point at the validator's own
database, a cloud's metadata service or a neighbour on the private network. The tables are our own, so that every
supported Python refuses the same addresses; a test compares them with the standard library's.
"""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from sssa.protocol.errors import ValidatorError
from sssa.protocol.round import Axon
from sssa.protocol.text import printable

_LONGEST_LITERAL: Final = 45  # an IPv4-mapped IPv6 address written out
_HIGHEST_PORT: Final = 65_535

# What `allow_private` lets through: the local network and operators with miners next to them.
_PRIVATE_V4: Final = tuple(
    map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
)
_PRIVATE_V6: Final = (IPv6Network("::1/128"), IPv6Network("fc00::/7"))

# Never connected to, whatever the settings say (IANA special-purpose registries).
_REFUSED_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "169.254.0.0/16",  # link-local, cloud metadata among it
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",  # reserved and broadcast
        ),
    )
)
# Of IPv6 only native global unicast: NAT64 lies outside it, and 6to4 and Teredo wrap an IPv4 address that a gateway
# would send the packet on to. An IPv4-mapped address is judged as the IPv4 address it stands for.
_UNICAST_V6: Final = IPv6Network("2000::/3")
_REFUSED_V6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo and benchmarking among them
            "2001:db8::/32",
            "2002::/16",  # 6to4
            "3fff::/20",
        ),
    )
)


class AddressRefusedError(ValidatorError):
    """The axon's address is refused."""


def axon_address(axon: Axon, *, allow_private: bool = False) -> IPv4Address | IPv6Address:
    """Return the address to connect to, an IPv4-mapped one as IPv4, or refuse the axon (AddressRefusedError).

    `ip` must be a literal of a public unicast address, a host name is never resolved; `allow_private` lets loopback,
    private and carrier-grade NAT addresses through (the local network). The port is from 1 to 65535.
    """
    if not 1 <= axon.port <= _HIGHEST_PORT:
        raise AddressRefusedError(f"port {printable(str(axon.port), 20)} is not from 1 to {_HIGHEST_PORT}")
    address = _literal(axon.ip)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if not _allowed(address, allow_private=allow_private):
        raise AddressRefusedError(f"{address} is not a public unicast address")
    return address


def _literal(text: str) -> IPv4Address | IPv6Address:
    try:
        if len(text) > _LONGEST_LITERAL or "%" in text:  # a zone names an interface of ours
            raise ValueError
        return ip_address(text)
    except ValueError:
        raise AddressRefusedError(f"`{printable(text, 50)}` is not an IP address") from None


def _allowed(address: IPv4Address | IPv6Address, *, allow_private: bool) -> bool:
    if isinstance(address, IPv4Address):
        if any(address in network for network in _PRIVATE_V4):
            return allow_private
        return not any(address in network for network in _REFUSED_V4)
    if any(address in network for network in _PRIVATE_V6):
        return allow_private
    return address in _UNICAST_V6 and not any(address in network for network in _REFUSED_V6)


class CheckedResolver(AbstractResolver):
    """A resolver of what `axon_address` lets through, so that no name leads into the validator's own network."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be called (OSError: there is none)."""
        allowed = [entry for entry in await self._system.resolve(host, port, family) if self._allowed(entry)]
        if not allowed:
            raise OSError("no address of the name may be called")
        return allowed

    async def close(self) -> None:
        """Hold nothing."""

    def _allowed(self, entry: ResolveResult) -> bool:
        try:
            axon_address(Axon(entry["host"], max(1, entry["port"]), False), allow_private=self._allow_private)
        except AddressRefusedError:
            return False
        return True
