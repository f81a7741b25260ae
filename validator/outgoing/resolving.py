"""Host names of services: looked up, and only addresses that may be called are kept."""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from validator.outgoing.addresses import AddressRefusedError, axon_address
from validator.protocol.round import Axon


class CheckedResolver(AbstractResolver):
    """Answers with what `axon_address` lets through, so that no name leads into the validator's own network.

    Args:
        allow_private: let loopback and private addresses through (the local network).
    """

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._system = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be called.

        Raises:
            OSError: there is none.
        """
        found = [entry for entry in await self._system.resolve(host, port, family) if self._allowed(entry)]
        if not found:
            raise OSError("no address of the name may be called")
        return found

    async def close(self) -> None:
        """Hold nothing."""

    def _allowed(self, entry: ResolveResult) -> bool:
        try:
            axon_address(Axon(entry["host"], max(1, entry["port"]), False), allow_private=self._allow_private)
        except AddressRefusedError:
            return False
        return True
