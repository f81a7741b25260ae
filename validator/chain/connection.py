"""A connection to a subtensor node through the SDK: opened when first needed, a time limit round every call."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import bittensor as bt
from bittensor.result import ConnectionNotReady
from bittensor.settings import resolve_endpoint

from validator.chain.base import ChainError, ChainUnreachableError, MissingError
from validator.chain.node import Node, NodeSubstrate, Substrate, is_missing, substrate_of
from validator.chain.within import within
from validator.protocol.text import printable
from validator.settings.urls import shown_url
from validator.sources import Clock

T = TypeVar("T")
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
_GONE: Final = (bt.RpcConnectionError, ConnectionNotReady, OSError)
_CLOSE_S: Final = 5.0
_closing: Final[set[asyncio.Task[None]]] = set()  # clients that are being closed: the event loop alone would drop them


def open_client(
    endpoints: Sequence[str], netuid: int, substrate: Substrates | None, *, stubborn: bool, silence_s: float
) -> bt.Client:
    """Return a client that may act on one subnet and spend nothing; not connected.

    Args:
        endpoints: network names or websocket urls, the favourite first.
        netuid: the subnet.
        substrate: in place of the SDK's own access to a node.
        stubborn: whether it tries its endpoints over and over, for as long as it takes.
        silence_s: an endpoint that leaves requests without any answer for so long has lost the connection.

    Raises:
        ChainError: an endpoint that is neither a url nor a network's name.
    """
    try:
        urls = [resolve_endpoint(endpoint)[1] for endpoint in endpoints]
    except ValueError as error:
        raise ChainError(f"chain.endpoints: {printable(str(error), 300)}") from None
    return bt.Client(
        urls[0],
        policy=bt.Policy(max_spend_tao=0, allowed_netuids=[netuid]),
        substrate=substrate() if substrate else NodeSubstrate(urls, stubborn=stubborn, silence_s=silence_s),
    )


class Connection:
    """One client, opened when it is first asked something, for one event loop.

    Args:
        opened: makes a client that is not connected yet.
        clock: time limits.
        limit_s: how long connecting, and each call, may take.
        endpoints: for messages; shown without what may be secret in them.
        diagnose: says what is at the endpoints where none answers; None says nothing.

    Attributes:
        latency_s: how long the newest call of `read` took that was answered; None before the first.
    """

    def __init__(
        self,
        opened: Callable[[], bt.Client],
        clock: Clock,
        limit_s: float,
        endpoints: Sequence[str],
        diagnose: Callable[[], Coroutine[Any, Any, str]] | None = None,
    ) -> None:
        self._opened = opened
        self._clock = clock
        self._limit_s = limit_s
        self._endpoints = endpoints
        self._diagnose = diagnose
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Task[bt.Client] | None = None
        self._closed = False
        self.latency_s: float | None = None

    @property
    def closed(self) -> bool:
        """Whether it was closed; nothing can be asked then."""
        return self._closed

    async def read(self, what: str, read: Callable[[Node], Coroutine[Any, Any, T]]) -> T:
        """Return what `read` makes of the node; the limit is for each of its calls, not for all of them.

        Raises:
            ChainError: as `ask`.
        """
        client = await self.client()
        try:
            return await read(Node(client, self._timed))
        except TimeoutError:
            raise await self._unreachable(f"{what}: no answer within {self._limit_s:g} s") from None
        except SDK_ERRORS as error:
            raise self.translated(what, error) from error

    async def ask(
        self, what: str, call: Callable[[bt.Client], Coroutine[Any, Any, T]], limit_s: float | None = None
    ) -> T:
        """Return what `call` makes of the client, within `limit_s` if that is given.

        Raises:
            ChainUnreachableError: no connection, or no answer in time.
            MissingError: the chain's runtime knows nothing of the kind.
            ChainError: an answer that cannot be used.
        """
        client = await self.client()
        limit = self._limit_s if limit_s is None else limit_s
        try:
            return await within(self._clock, limit, call(client))
        except TimeoutError:
            raise ChainUnreachableError(f"{what}: no answer within {limit:g} s") from None
        except SDK_ERRORS as error:
            raise self.translated(what, error) from error

    async def client(self) -> bt.Client:
        """Return the client, connected.

        An attempt that outlasts the limit goes on in the background: the SDK tries all endpoints over and over, and
        the next call finds what came of it.

        Raises:
            ChainUnreachableError: no endpoint answered in time.
            ChainError: it was closed, belongs to another event loop, or the node is not of the right kind.
        """
        if self._closed:
            raise ChainError("the connection was closed")
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise ChainError("the connection belongs to another event loop")
        if self._opening is None:
            self._opening = asyncio.create_task(_connected(self._opened()))
        opening = self._opening
        try:
            return await within(self._clock, self._limit_s, _shielded(opening))
        except TimeoutError:
            raise await self._unreachable(f"no endpoint answered within {self._limit_s:g} s") from None
        except SDK_ERRORS as error:
            raise self.translated("connecting", error) from error
        finally:
            # Only this attempt: whoever was told before may have begun another one.
            if self._opening is opening and opening.done() and (opening.cancelled() or opening.exception()):
                self._opening = None

    async def _unreachable(self, what: str) -> ChainUnreachableError:
        """Return the error, which says what is at the endpoints instead."""
        shown = ", ".join(map(shown_url, self._endpoints)) if self._diagnose is None else await self._diagnose()
        return ChainUnreachableError(f"{what}: {shown}")

    async def _timed(self, call: Coroutine[Any, Any, T]) -> T:
        began = self._clock.monotonic()
        answer = await within(self._clock, self._limit_s, call)
        self.latency_s = self._clock.monotonic() - began
        return answer

    def translated(self, what: str, error: Exception) -> ChainError:
        """Return the error of this program for one of the SDK; endpoints in its text are hidden."""
        text = str(error) or type(error).__name__
        for endpoint in self._endpoints:
            text = text.replace(endpoint, shown_url(endpoint))
        text = printable(text, 500)
        kind = ChainUnreachableError if isinstance(error, _GONE) else MissingError if is_missing(error) else ChainError
        return kind(f"{what}: {text}")

    async def close(self) -> None:
        """Close the client; calls that are under way fail."""
        self._closed = True
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
