"""The target of a check: where the miner listens and which hotkey it must answer for."""

import socket
from typing import Final, NamedTuple

from yarl import URL

from sssa.protocol.errors import ValidatorError
from sssa.protocol.round import Axon
from sssa.protocol.signatures import is_hotkey
from sssa.protocol.text import printable
from validator.outgoing.addresses import AddressRefusedError, axon_address

_PORTS: Final = {"http": 80, "https": 443}


class TargetError(ValidatorError):
    """There is no miner to check."""


class Target(NamedTuple):
    """A miner.

    Attributes:
        hotkey: what requests are bound to and answers must be signed by.
        axon: where it listens.
        public: whether a validator on chain would call that address, too.
    """

    hotkey: str
    axon: Axon
    public: bool


def target_of(url: str, hotkey: str) -> Target:
    """Return the miner at `url`; a host name is looked up once, here. Blocks while it is.

    Raises:
        TargetError: no such url or hotkey, or an address that nobody calls.
    """
    if not is_hotkey(hotkey):
        raise TargetError(f"`{printable(hotkey, 60)}` is no ss58 address - at `--hotkey`")
    axon = axon_of(url, "URL")
    return Target(hotkey, axon, _is_public(axon))


def axon_of(url: str, field: str) -> Axon:
    """Return where the miner at `url` listens; a host name is looked up once, here. Blocks while it is.

    Raises:
        TargetError: no such url, or an address that nobody calls; it ends with the name of the `field`.
    """
    try:
        parsed = URL(url)
        host, port = parsed.host, parsed.port
    except ValueError:
        host, port, parsed = None, None, URL()
    if host is None or port is None or parsed.scheme not in _PORTS or parsed.raw_path not in {"", "/"}:
        raise TargetError(f"`{printable(url, 80)}` is not http://ADDRESS:PORT or https://ADDRESS:PORT - at `{field}`")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4]
    except (OSError, UnicodeError):
        raise TargetError(f"nobody knows the host `{printable(host, 80)}` - at `{field}`") from None
    axon = Axon(str(found[0]), port, parsed.scheme == "https")
    try:
        axon_address(axon, allow_private=True)
    except AddressRefusedError as error:
        raise TargetError(f"{error.detail} - at `{field}`") from None
    return axon


def _is_public(axon: Axon) -> bool:
    try:
        axon_address(axon)
    except AddressRefusedError:
        return False
    return True
