"""Whether an endpoint is on this machine: what becomes of it tells nothing of the network then (SPEC 16, D-26)."""

import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from validator.settings import Settings


def chain_is_here(settings: Settings) -> bool:
    """Return whether the chain is inside this program or on this machine; blocks while names are looked up."""
    return settings.chain.kind == "simulated" or on_this_machine(one.reveal() for one in settings.chain.endpoints)


def on_this_machine(endpoints: Iterable[str]) -> bool:
    """Return whether every endpoint is; blocks while names are looked up.

    Args:
        endpoints: ws:// or wss:// urls, or names of public networks, which are elsewhere.
    """
    return all(_is_here(urlsplit(endpoint).hostname) for endpoint in endpoints)


def _is_here(host: str | None) -> bool:
    if host is None:
        return False
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False  # not even a name: it is not this machine's own
    return all(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: tuple[object, ...]) -> bool:
    """Whether a socket can be bound to the address: only one of this machine's own lets itself be."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as trial:
            trial.bind((address[0], 0))
    except OSError:
        return False
    return True
