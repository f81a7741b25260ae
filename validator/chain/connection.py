"""A connection to a subtensor node through the SDK, for `bittensor.py`: few round trips, every call with a limit."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol, Self, TypeVar, cast

import bittensor as bt
from bittensor._transport import SubstrateConnection
from bittensor._transport.errors import SubstrateRequestException
from bittensor._transport.rpc import _default_connect
from bittensor._transport.storage import decode_storage_value
from bittensor.result import ConnectionNotReady
from bittensor.settings import resolve_endpoint
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.cancellation import within
from validator.chain.endpoint_socket import EndpointSocket
from validator.chain.endpoints import Endpoints
from validator.chain.interface import ChainError, ChainUnreachableError, MissingError
from validator.chain.limits import Limits
from validator.settings.urls import shown_url

T = TypeVar("T")
Item = tuple[str, str, list[Any]]
"""A storage item: pallet, name, keys."""
MISSING: Final = object()  # the value of an item that the runtime does not have
_TRIES: Final = 3  # connections in a row that may be lost before a submission gives up, for each endpoint


class Substrate(bt.Substrate, Protocol):
    """The SDK's access to a node, with two reads that it lacks."""

    async def pin(self) -> str:
        """Return the newest block's hash. Reads at that hash take one round trip each."""

    async def query_many(self, items: Sequence[Item], block_hash: str) -> list[Any]:
        """Return storage items of one block, in one round trip; MISSING for one that the runtime does not have."""


class NodeSubstrate(bt.RpcSubstrate):
    """The SDK's own access to a node, with `pin` and `query_many`.

    Args:
        endpoints: chooses the one to connect to, each time.
        stubborn: whether it tries its endpoints over and over, for as long as it takes.
    """

    def __init__(self, endpoints: Endpoints, limits: Limits, *, stubborn: bool) -> None:
        super().__init__(resolve_endpoint(endpoints.all[0])[1], retry_forever=stubborn)
        self.socket: EndpointSocket | None = None
        self._endpoints = endpoints
        self._limits = limits

    async def connect(self) -> None:
        """Open the connection; an error leaves none open."""
        if self._substrate is not None:
            return
        substrate = self._interface(self.endpoint, [])
        try:
            await substrate.initialize()
        except BaseException as error:
            with suppress(Exception):
                await substrate.close()
            if isinstance(error, SubstrateRequestException):
                raise bt.RpcConnectionError(str(error)) from error
            raise
        self._substrate = substrate

    def _interface(self, endpoint: str, fallbacks: list[str]) -> SubstrateConnection:
        del fallbacks
        return SubstrateConnection(
            endpoint,
            retry_forever=self.retry_forever,
            max_retries=_TRIES * len(self._endpoints.all),
            connect_factory=self._dialed,
        )

    async def _dialed(self, _url: str) -> EndpointSocket:
        """Dial the chosen endpoint, or the next one if that fails (ConnectionError: all fail)."""
        for _ in self._endpoints.all:
            endpoint = await self._endpoints.choose()
            try:
                async with asyncio.timeout(self._limits.look_s):
                    socket = cast("ClientConnection", await _default_connect(resolve_endpoint(endpoint)[1]))
            except (SubstrateRequestException, WebSocketException, OSError, EOFError) as error:
                self._endpoints.leave(endpoint, f"no connection: {str(error) or type(error).__name__}")
            else:
                self.socket = EndpointSocket(socket, endpoint, self._endpoints, self._limits)
                return self.socket
        raise ConnectionError(self._endpoints.described())

    async def pin(self) -> str:
        """Return the newest block's hash, and let the SDK decode its state with the newest runtime that it knows.

        Left alone, the SDK asks for each new block's header and then for its runtime: two more round trips. What it
        knows of the newest runtime is at most 12 s old.
        """
        block_hash, version = await asyncio.gather(self.block_hash(), self.spec_version())
        self.raw._runtimes._spec_by_block_hash.set(block_hash, version)  # noqa: SLF001 - the SDK has no other door
        return block_hash

    async def block_hash(self, block: int | None = None) -> str:
        """Return a block's hash as the node has it now; the SDK remembers some, and looks up finality for it."""
        if block is None:
            return str(await super().block_hash())
        answer = await self._read(lambda raw: raw.rpc_request("chain_getBlockHash", [block]))
        if answer is None:
            raise bt.ChainError(f"no block at height {block}")
        return str(answer)

    async def query_many(self, items: Sequence[Item], block_hash: str) -> list[Any]:
        """Return storage items of one block, in one round trip; MISSING for one that the runtime does not have."""
        codec = await self.raw._runtimes.codec_at(block_hash)  # noqa: SLF001 - see pin
        known: dict[int, tuple[Any, str]] = {}
        for place, (pallet, name, params) in enumerate(items):
            try:
                entry = codec.storage_entry(pallet, name)
            except ValueError as error:
                if not is_missing(error):
                    raise
            else:
                known[place] = entry, "0x" + codec.storage_key(entry, params).hex()
        parameters = [[key for _, key in known.values()], block_hash]
        answer = await self._read(lambda raw: raw.rpc_request("state_queryStorageAt", parameters))
        changes = {key: value for group in answer for key, value in group["changes"] if value is not None}
        values: list[Any] = [MISSING] * len(items)
        for place, (entry, key) in known.items():
            raw = bytes.fromhex(changes[key].removeprefix("0x")) if key in changes else None
            values[place] = decode_storage_value(codec, entry, raw)
        return values


class Node:
    """A connected client whose every call has its own time limit."""

    def __init__(
        self, client: bt.Client, timed: Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]]
    ) -> None:
        self._substrate = substrate_of(client)
        self._timed = timed

    async def newest(self) -> "View":
        """Return the state of the newest block."""
        return View(self._substrate, await self._timed(self._substrate.pin()), self._timed)

    async def hash_of(self, number: int) -> str:
        """Return the hash of a block."""
        return str(await self._timed(self._substrate.block_hash(number)))

    async def spec_version(self) -> int:
        """Return the spec version of the runtime."""
        return int(await self._timed(self._substrate.spec_version()))

    async def query(self, pallet: str, name: str, params: list[Any]) -> Any:
        """Return a storage item as it is now, in one round trip."""
        return await self._timed(self._substrate.query(pallet, name, params))

    async def has_call(self, call: Any) -> bool:
        """Return whether the runtime has the call."""
        try:
            await self._timed(self._substrate.compose(call))
        except ValueError as error:
            return not is_missing(error)
        return True


class View:
    """The state of one block, in the form that the SDK's reads take."""

    def __init__(
        self,
        substrate: Substrate,
        block_hash: str,
        timed: Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]],
    ) -> None:
        self.block_hash = block_hash
        self._substrate = substrate
        self._timed = timed

    async def at(self) -> Self:
        """Return itself: the SDK's reads pin what is not pinned."""
        return self

    async def query_many(self, *items: Item) -> list[Any]:
        """Return storage items, MISSING for one that the runtime does not have."""
        return cast("list[Any]", await self._timed(self._substrate.query_many(items, self.block_hash)))

    async def query_map(self, pallet: str, name: str, params: list[Any]) -> list[tuple[Any, Any]]:
        """Return the entries of a map under `params`."""
        read = self._substrate.query_map(pallet, name, params, self.block_hash)
        return cast("list[tuple[Any, Any]]", await self._timed(read))

    async def runtime(self, method: tuple[str, str], params: list[Any]) -> Any:
        """Return the result of a runtime call."""
        return await self._timed(self._substrate.runtime_call(*method, params, self.block_hash))


def substrate_of(client: bt.Client) -> Substrate:
    """Return the client's access to the node."""
    return cast("Substrate", client._substrate)  # noqa: SLF001 - its own reads ask for a block's hash each time


def is_missing(error: Exception) -> bool:
    """Return whether the SDK reports that the runtime lacks this storage item or call; other ValueErrors are faults."""
    if not isinstance(error, ValueError):
        return False
    return type(error).__name__ == "StorageFunctionNotFound" or "not found in registry" in str(error)


Substrates = Callable[[], Substrate]

# What the SDK lets through besides its own errors when a node answers with something else than was asked for.
SDK_ERRORS: Final = (
    bt.BittensorError,
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_NONSENSE: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_GONE: Final = (bt.RpcConnectionError, ConnectionNotReady, OSError)
_CLOSE_S: Final = 5.0
_closing: Final[set[asyncio.Task[None]]] = set()  # clients that are being closed: the event loop alone would drop them


def open_client(
    endpoints: Endpoints, netuid: int, substrate: Substrates | None, limits: Limits, *, stubborn: bool
) -> bt.Client:
    """Return a client that may act on one subnet and spend nothing; not connected.

    It tries its endpoints over and over if it is `stubborn` (ChainError: one is neither a url nor a network's name).
    """
    try:
        urls = [resolve_endpoint(endpoint)[1] for endpoint in endpoints.all]
    except ValueError as error:
        raise ChainError(f"chain.endpoints: {printable(str(error), 300)}") from None
    return bt.Client(
        urls[0],
        policy=bt.Policy(max_spend_tao=0, allowed_netuids=[netuid]),
        substrate=substrate() if substrate else NodeSubstrate(endpoints, limits, stubborn=stubborn),
    )


class Connection:
    """One client for one event loop; the first call opens it.

    Args:
        opened: makes a client that is not connected yet.
        limit_s: how long connecting, and each call, may take.
        endpoints: what it may be connected to.

    Attributes:
        latency_s: how long the newest call to a `node` took that was answered; None before the first.
        closed: True after `close`; every call fails then.
    """

    def __init__(
        self,
        opened: Callable[[], bt.Client],
        clock: Clock,
        limit_s: float,
        endpoints: Endpoints,
    ) -> None:
        self._opened = opened
        self._clock = clock
        self._limit_s = limit_s
        self._endpoints = endpoints
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: bt.Client | None = None
        self._opening: asyncio.Task[bt.Client] | None = None
        self.closed = False
        self.latency_s: float | None = None

    @property
    def endpoint(self) -> str:
        """The current or last endpoint; empty before the first."""
        socket = self._socket
        return "" if socket is None else socket.endpoint

    def leave(self, reason: str) -> bool:
        """Leave the endpoint and return True, if another one is healthy."""
        socket = self._socket
        return socket is not None and socket.leave(reason)

    def drop(self, reason: str) -> None:
        """Break the connection; the endpoint is chosen again."""
        if (socket := self._socket) is not None:
            socket.drop(reason)

    @property
    def _socket(self) -> EndpointSocket | None:
        socket = None if self._client is None else getattr(substrate_of(self._client), "socket", None)
        return socket if isinstance(socket, EndpointSocket) else None

    @asynccontextmanager
    async def node(self, what: str) -> AsyncIterator[Node]:
        """Yield the node to read from; the time limit applies to each of its calls.

        Raises:
            ChainError: as `ask`, and of what the body raises all that is the SDK's.
        """
        async with self.asking(what) as client:
            yield Node(client, self._timed)

    async def ask(
        self, what: str, call: Callable[[bt.Client], Coroutine[Any, Any, T]], limit_s: float | None = None
    ) -> T:
        """Return the result of `call` on the client, within `limit_s` if given.

        Raises:
            ChainUnreachableError: no connection, or no answer in time.
            MissingError: the chain's runtime knows nothing of the kind.
            ChainError: an answer that cannot be used.
        """
        limit_s = self._limit_s if limit_s is None else limit_s
        async with self.asking(what, limit_s) as client:
            return await within(self._clock, limit_s, call(client))

    @asynccontextmanager
    async def asking(self, what: str, limit_s: float | None = None) -> AsyncIterator[bt.Client]:
        """Yield the client; the errors of the body are translated as in `ask`."""
        client = await self.client()
        try:
            yield client
        except TimeoutError:
            raise self._unreachable(f"{what}: no answer within {limit_s or self._limit_s:g} s") from None
        except SDK_ERRORS as error:
            raise self.translated(what, error) from error

    async def client(self) -> bt.Client:
        """Return the client, connected.

        An attempt that outlasts the limit continues in the background: the SDK tries all endpoints over and over, and
        the next call finds the result of it.

        Raises:
            ChainUnreachableError: no endpoint answered in time.
            ChainError: it was closed, belongs to another event loop, or the node is not of the right kind.
        """
        if self.closed:
            raise ChainError("the connection was closed")
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise ChainError("the connection belongs to another event loop")
        if self._opening is None:
            self._client = self._opened()
            self._opening = asyncio.create_task(_connected(self._client))
        opening = self._opening
        try:
            return await within(self._clock, self._limit_s, _shielded(opening))
        except TimeoutError:
            raise self._unreachable(f"no endpoint answered within {self._limit_s:g} s") from None
        except SDK_ERRORS as error:
            raise self.translated("connecting", error) from error
        finally:
            # Only this attempt: another caller may have begun the next one.
            if self._opening is opening and opening.done() and (opening.cancelled() or opening.exception()):
                self._opening = None

    def _unreachable(self, what: str) -> ChainUnreachableError:
        return ChainUnreachableError(f"{what}: {self._endpoints.described()}")

    async def _timed(self, call: Coroutine[Any, Any, T]) -> T:
        began = self._clock.monotonic()
        answer = await within(self._clock, self._limit_s, call)
        self.latency_s = self._clock.monotonic() - began
        return answer

    def translated(self, what: str, error: Exception) -> ChainError:
        """Return this program's error for one of the SDK, with endpoints hidden."""
        if isinstance(error, _NONSENSE) and not is_missing(error):
            where = shown_url(self.endpoint) if self.endpoint else self._endpoints.described()
            self.leave(f"its answer to `{what}` cannot be read")
            return ChainError(f"{what} at {where}: the answer cannot be read")
        text = str(error) or type(error).__name__
        for endpoint in self._endpoints.all:
            text = text.replace(endpoint, shown_url(endpoint))
        text = printable(text, 500)
        kind = ChainUnreachableError if isinstance(error, _GONE) else MissingError if is_missing(error) else ChainError
        return kind(f"{what}: {text}")

    async def close(self) -> None:
        """Close the client; open calls fail."""
        self.closed = True
        opening, self._opening = self._opening, None
        if opening is None:
            return
        # Not cancelled while it connects: the SDK would leave its own task behind, which dials on for ever.
        closing = asyncio.create_task(_closed(opening))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        if opening.done():
            with suppress(TimeoutError):
                await within(self._clock, _CLOSE_S, _shielded(closing))


async def _connected(client: bt.Client) -> bt.Client:
    await substrate_of(client).connect()  # client.connect() would read every subnet's symbol, too
    return client


async def _closed(opening: asyncio.Task[bt.Client]) -> None:
    with suppress(Exception):  # nothing that goes wrong in closing matters any more
        client = await opening
        await client.close()


async def _shielded(task: Awaitable[T]) -> T:
    return await asyncio.shield(task)
