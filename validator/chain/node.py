"""Access to a subtensor node in few round trips: a block is pinned by its hash, and many values come in one answer."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, Protocol, Self, TypeVar, cast

import bittensor as bt
from bittensor._transport import SubstrateConnection
from bittensor._transport.storage import decode_storage_value

T = TypeVar("T")
Item = tuple[str, str, list[Any]]
"""A storage item: pallet, name, keys."""
MISSING: Final = object()  # the value of an item that the runtime does not have
_TRIES: Final = 2  # connections that an endpoint may lose, or leave without an answer, before the next one's turn


class Substrate(bt.Substrate, Protocol):
    """The SDK's access to a node, and what it lacks."""

    async def pin(self) -> str:
        """Return the newest block's hash. Reads at that hash take one round trip each."""

    async def query_many(self, items: Sequence[Item], block_hash: str) -> list[Any]:
        """Return storage items of one block, in one round trip; MISSING for one that the runtime does not have."""


class NodeSubstrate(bt.RpcSubstrate):
    """The SDK's own access to a node, with `pin` and `query_many`.

    Args:
        endpoints: websocket urls, the favourite first.
        stubborn: whether it tries its endpoints over and over, for as long as it takes.
        silence_s: an endpoint that leaves requests without any answer for so long has lost the connection.
    """

    def __init__(self, endpoints: Sequence[str], *, stubborn: bool, silence_s: float) -> None:
        super().__init__(endpoints[0], fallback_endpoints=list(endpoints[1:]), retry_forever=stubborn)
        self._silence_s = silence_s

    def _interface(self, endpoint: str, fallbacks: list[str]) -> SubstrateConnection:
        return SubstrateConnection(
            endpoint,
            fallback_urls=fallbacks,
            retry_forever=self.retry_forever,
            max_retries=_TRIES,
            response_timeout=self._silence_s,
        )

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
        found = await self._read(lambda raw: raw.rpc_request("chain_getBlockHash", [block]))
        if found is None:
            raise bt.ChainError(f"no block at height {block}")
        return str(found)

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
        asked = [[key for _, key in known.values()], block_hash]
        answer = await self._read(lambda raw: raw.rpc_request("state_queryStorageAt", asked))
        found = {key: value for group in answer for key, value in group["changes"] if value is not None}
        values: list[Any] = [MISSING] * len(items)
        for place, (entry, key) in known.items():
            raw = bytes.fromhex(found[key].removeprefix("0x")) if key in found else None
            values[place] = decode_storage_value(codec, entry, raw)
        return values


class Node:
    """A connected client whose every call has a time limit of its own.

    Args:
        client: connected.
        timed: puts the limit on one call.
    """

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

    async def query(self, pallet: str, name: str, params: list[Any]) -> Any:
        """Return a storage item as it is now, in one round trip."""
        return await self._timed(self._substrate.query(pallet, name, params))

    async def has_call(self, call: Any) -> bool:
        """Whether the runtime has the call."""
        try:
            await self._timed(self._substrate.compose(call))
        except ValueError as error:
            return not is_missing(error)
        return True


class View:
    """The state of one block, in the form in which the SDK's reads take one.

    Args:
        substrate: connected.
        block_hash: of the block, pinned.
        timed: puts a limit on one call.
    """

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
        """Return what a map holds under `params`."""
        read = self._substrate.query_map(pallet, name, params, self.block_hash)
        return cast("list[tuple[Any, Any]]", await self._timed(read))

    async def runtime(self, method: tuple[str, str], params: list[Any]) -> Any:
        """Return what a call of the runtime's answers."""
        return await self._timed(self._substrate.runtime_call(*method, params, self.block_hash))


def substrate_of(client: bt.Client) -> Substrate:
    """Return what the client reads through."""
    return cast("Substrate", client._substrate)  # noqa: SLF001 - its own reads ask for a block's hash each time


def is_missing(error: Exception) -> bool:
    """Whether the SDK says that the runtime has no such storage item or call; other faulty values are faults."""
    if not isinstance(error, ValueError):
        return False
    return type(error).__name__ == "StorageFunctionNotFound" or "not found in registry" in str(error)
