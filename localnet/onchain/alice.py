"""A client of a development chain that signs as //Alice, also as root: checks every answer, retries some calls."""

from collections.abc import Callable
from typing import Any, Final, cast

import bittensor as bt
from bittensor.result import chain_error_from_dispatch
from bittensor.settings import resolve_endpoint

from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.sources import Clock
from validator.chain.connection import Connection, Substrates
from validator.chain.endpoints import Endpoints
from validator.chain.interface import ChainError, ChainUnreachableError
from validator.chain.limits import LIMITS
from validator.chain.submission import error_message
from validator.settings.urls import shown_url

ATTEMPTS: Final = 120  # at a call, about a block apart: short epochs and their freeze windows pass many times
# A freeze window may leave one block of ten open; every second block, in step with it, would never meet that one.
_OUT_OF_STEP: Final = 6
_SUBMIT_S: Final = 90.0
_NAMED: Final = {"Sudo": ("Sudid", "sudo_result")}
# The same call can pass in a later block: rate limits, freeze windows, delays, an era that ran out in the pool.
_LATER: Final = frozenset({bt.ErrorCode.RATE_LIMITED, bt.ErrorCode.TOO_EARLY, bt.ErrorCode.EXPIRED})


class CallRefusedError(ChainError):
    """The chain refused a call."""


class NoNodeUrlError(ValidatorError):
    """This is no node's address."""


class NoSuchCallError(ChainError):
    """The chain's runtime has no such call."""


class Alice:
    """The key that owns the money, and is root, on every development chain.

    Args:
        url: a network's name or a websocket url.
        clock: time limits.
        retrying: called with each call that is tried again, and why.
        substrate: in place of the SDK's own access to a node: for tests.

    Raises:
        NoNodeUrlError: the url is neither.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        retrying: Callable[[str], None] = lambda _: None,
        substrate: Substrates | None = None,
    ) -> None:
        try:
            self.url: str = resolve_endpoint(url)[1]
        except ValueError:
            raise NoNodeUrlError(f"--url {shown_url(url)}; name a ws:// or wss:// url, or local") from None
        self._keypair = Signer.from_uri("//Alice").keypair
        self._retrying = retrying
        self._connection = Connection(
            lambda: self._opened(substrate), clock, LIMITS.call_s, Endpoints((self.url,), clock, LIMITS)
        )

    @property
    def place(self) -> str:
        """The url as it may be shown: providers put keys into its path, and it may hold a password."""
        return shown_url(self.url)

    @property
    def address(self) -> str:
        """Her ss58 address."""
        return str(self._keypair.ss58_address)

    async def query(self, pallet: str, item: str, *params: Any) -> Any:
        """Return a storage item as of the newest block."""
        return await self._connection.ask(item, lambda client: client.query((pallet, item), list(params)))

    async def netuids(self) -> set[int]:
        """Return the subnets that there are."""
        item = ("SubtensorModule", "NetworksAdded")
        rows = await self._connection.ask("NetworksAdded", lambda client: client.query_map(item))
        return {int(netuid) for netuid, added in rows if added}

    async def block_time(self) -> float:
        """Return the seconds between blocks."""
        return await self._connection.ask("block time", bt.Client.block_time)

    async def call(self, call: Any) -> None:
        """Submit as //Alice and wait until a block holds it.

        Raises:
            CallRefusedError: the chain refused it, permanently or in every block that it was tried in; named by its
                error.
            ChainError: other failures.
        """
        await self._until_taken(call.function, call)

    async def root(self, call: Any) -> None:
        """Call as root through //Alice; what counts is the result of the inner call.

        Raises:
            NoSuchCallError: the runtime does not have it.
            CallRefusedError, ChainError: as for `call`.
        """
        try:
            inner = await self._connection.ask(call.function, lambda client: cast("Any", client).compose(call))
        except ChainUnreachableError:
            raise
        except ChainError:
            raise NoSuchCallError(f"{call.module}.{call.function}") from None
        await self._until_taken(call.function, bt.calls.Sudo.sudo(call=inner))

    async def close(self) -> None:
        """Release the connection."""
        await self._connection.close()

    async def _until_taken(self, name: str, call: Any) -> None:
        message = ""
        for attempt in range(1, ATTEMPTS + 1):
            result = await self._submitted(name, call)
            error = refusal(result)
            if error is None:
                return
            first, message = not message, error_message(error)
            if error.code not in _LATER:
                raise CallRefusedError(f"{name}: {message}")
            if first:
                self._retrying(f"{name} is tried again: {message}")
            if result.extrinsic_id is None or attempt % _OUT_OF_STEP == 0:  # no block held it, or one is let pass
                await self._connection.ask("blocks", bt.Client.wait_for_block)
        raise CallRefusedError(f"{name}: {message}; tried {ATTEMPTS} times")

    async def _submitted(self, name: str, call: Any) -> bt.ExtrinsicResult:
        return await self._connection.ask(
            name,
            lambda client: client.submit_call(call, self._keypair, wait_for_finalization=False),
            _SUBMIT_S,
        )

    def _opened(self, substrate: Substrates | None) -> bt.Client:
        return bt.Client(
            self.url,
            fallback_endpoints=[],
            archive_endpoints=[],
            substrate=None if substrate is None else substrate(),
        )


def refusal(result: bt.ExtrinsicResult) -> bt.ChainError | None:
    """Return why a call failed, None if it did what it says.

    Sudo's own part succeeds even if the call in it fails; how that ended is in the event `Sudid` alone.
    """
    if not result.success:
        return result.error or bt.ChainError(result.message)
    for record in result.events:
        value = getattr(record, "value", record)
        event = value.get("event", value) if isinstance(value, dict) else {}
        name, field = _NAMED.get(event.get("module_id", ""), ("", ""))
        attributes = event.get("attributes")
        if not name or event.get("event_id") != name or not isinstance(attributes, dict):
            continue
        inner = attributes.get(field)
        if isinstance(inner, dict) and "Err" in inner:
            return chain_error_from_dispatch(inner["Err"])
    return None
