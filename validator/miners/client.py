"""The signed HTTP client for miners (SPEC 5 gate 1, SPEC 13): one fresh connection for every call, all bounded."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv6Address
from pathlib import Path
from typing import Final, Protocol

from yarl import URL

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.sources import system_ns
from validator.outgoing.addresses import AddressRefusedError, axon_address
from validator.outgoing.calls import Call, Reply, Sent
from validator.outgoing.exchange import Exchange, RequestSigner

_THREADS: Final = 4


class MinerClient(Protocol):
    """Sender of requests to miners. Every outcome is a `Reply`; it only raises CancelledError and errors of `sent`."""

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as POST, once: it is never tried again."""

    async def get(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as GET, without its body."""

    async def close(self) -> None:
        """Free what the client holds; no call may be open or follow."""


class HttpMinerClient:
    """Calls miners over http, or https where the axon announces TLS.

    A connection is opened within `connect_timeout_s`, which is the validator's time; then the request is signed with
    a fresh nonce, and the miner's deadline runs from the first byte sent to the last byte received. Nothing is sent
    twice. Redirects, cookies, proxies of the environment and compressed transfer are not followed, kept, used or
    inflated.

    Certificates are not checked: an axon's is its own, and no authority could vouch for a hotkey. Both ends are
    authenticated by hotkey signatures (the request is signed for the receiver, what counts in the answer is signed
    by it); TLS only keeps bystanders from reading along.

    Args:
        max_open: calls open at once; others wait for their turn, and their deadlines have not begun.
        connect_timeout_s: bound on opening a connection, TLS included.
        allow_private: connect to loopback and private addresses too (the local network).
        spool_folder: where large bodies are kept while they are needed, None for the system's temporary folder.
        time_ns: nanoseconds since the Unix epoch, for nonces.
    """

    def __init__(  # noqa: PLR0913 - settings, each with its own default
        self,
        signer: Signer | RequestSigner,
        *,
        max_open: int = 128,
        connect_timeout_s: float = 5.0,
        allow_private: bool = False,
        spool_folder: Path | None = None,
        time_ns: Callable[[], int] = system_ns,
    ) -> None:
        self._signer = signer if isinstance(signer, RequestSigner) else RequestSigner(signer, time_ns)
        self._turns = asyncio.Semaphore(max_open)
        self._connect_timeout_s = connect_timeout_s
        self._allow_private = allow_private
        self._spool_folder = spool_folder
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="miners")

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as POST, once."""
        return await self._call("POST", call, sent)

    async def get(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as GET, without its body."""
        return await self._call("GET", call, sent)

    async def close(self) -> None:
        """Free the client's threads; no call may be open or follow."""
        self._threads.shutdown(wait=False)

    async def _call(self, method: str, call: Call, sent: Sent | None) -> Reply:
        if call.axon is None:
            return Reply(Reason.DEADLINE_NO_AXON, None, None, None, "")
        try:
            url = axon_url(call.axon, call.path, allow_private=self._allow_private)
        except AddressRefusedError as error:
            return Reply(Reason.DEADLINE_AXON_REFUSED, None, None, None, error.detail)
        async with self._turns:
            exchange = Exchange(
                method, call, sent, signer=self._signer, threads=self._threads, spool_folder=self._spool_folder
            )
            return await exchange.run(url, self._connect_timeout_s)


def axon_url(axon: Axon, path: str, *, allow_private: bool = False) -> URL:
    """Return the URL of a request for `path` (AddressRefusedError: see `axon_address`)."""
    address = axon_address(axon, allow_private=allow_private)
    host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
    return URL(f"{'https' if axon.tls else 'http'}://{host}:{axon.port}{path}", encoded=True)
