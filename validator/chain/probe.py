"""What is at an endpoint: which chain, how fast, how high; or what answers instead of a node, and what to do."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from bittensor.settings import resolve_endpoint

from validator.chain.rpc import NoNodeError, Rpc
from validator.protocol.text import printable
from validator.settings.urls import shown_url

# Where a runtime keeps the time of its newest block: twox_128("Timestamp") twox_128("Now").
_NOW: Final = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"
_MOST: Final = 2**32 - 1
_NOW_BYTES: Final = 8  # a node may say anything
_SILENT: Final = "look at the node's load and at the network; a firewall that drops looks like this, too"
_CALL_S: Final = 8.0


class Node(NamedTuple):
    """A node that answered.

    Attributes:
        place: its number in `chain.endpoints`, from 1.
        url: whole; never to be shown.
        chain: its name for its chain.
        spec: name of its runtime; `version` is the runtime's.
        genesis: hash of block 0.
        height: its newest block.
        time: of that block, seconds since the Unix epoch; None where it has none.
        syncing: whether it says that it still catches up.
        latency_s: of one answer.
    """

    place: int
    url: str
    chain: str
    spec: str
    version: int
    genesis: str
    height: int
    time: float | None
    syncing: bool
    latency_s: float


class Silent(NamedTuple):
    """An endpoint that is no node that can be used."""

    place: int
    seen: str
    advice: str


Seen = Node | Silent


async def diagnosis(endpoints: Sequence[str]) -> str:
    """Return for each endpoint what is there now, without what may be secret in its url; for messages."""
    found = await asyncio.gather(*(look_at(place, one, _CALL_S) for place, one in enumerate(endpoints, start=1)))
    return "; ".join(f"{shown_url(endpoint)}: {_said(one)}" for endpoint, one in zip(endpoints, found, strict=True))


async def block_time(rpc: Rpc, block_hash: str | None = None) -> float | None:
    """Return a block's time in seconds since the Unix epoch, the newest one's without a hash; None if it has none."""
    raw = await rpc.ask("state_getStorage", _NOW, *([block_hash] if block_hash else []))
    try:
        data = b"" if raw is None else bytes.fromhex(raw.removeprefix("0x"))
    except (AttributeError, TypeError, ValueError):
        return None
    return int.from_bytes(data, "little") / 1000 if 0 < len(data) <= _NOW_BYTES else None


async def look_at(place: int, endpoint: str, limit_s: float) -> Seen:
    """Return what is at an endpoint.

    Args:
        place: its number, from 1.
        endpoint: a url or a network's name.
        limit_s: how long connecting, and each call, may take.
    """
    try:
        url = resolve_endpoint(endpoint)[1]
    except ValueError:
        return Silent(place, "no such network", "name `finney`, `test` or a ws:// or wss:// url in chain.endpoints")
    connected = False
    try:
        async with Rpc(url, limit_s) as rpc:
            connected = True
            return await _asked(place, url, rpc)
    except TimeoutError:
        what = "connected, but no answer" if connected else "no websocket"
        return Silent(place, f"{what} within {limit_s:g} s", _SILENT)
    except NoNodeError as error:
        return Silent(place, error.seen, error.advice)


async def _asked(place: int, url: str, rpc: Rpc) -> Node:
    chain = await rpc.ask("system_chain")
    began = time.monotonic()
    header = await rpc.ask("chain_getHeader")
    latency = time.monotonic() - began
    runtime = await rpc.ask("state_getRuntimeVersion")
    genesis = await rpc.ask("chain_getBlockHash", 0)
    health = await rpc.ask("system_health")
    try:
        return Node(
            place=place,
            url=url,
            chain=printable(str(chain), 60),
            spec=printable(str(runtime["specName"]), 60),
            version=_u32(runtime["specVersion"]),
            genesis=printable(str(genesis), 80),
            height=_u32(int(header["number"], 16)),
            time=await block_time(rpc),
            syncing=isinstance(health, dict) and health.get("isSyncing") is True,
            latency_s=latency,
        )
    except (KeyError, TypeError, ValueError):
        raise NoNodeError(
            "a websocket whose answers are no node's", "name a subtensor node in chain.endpoints"
        ) from None


def _u32(number: object) -> int:
    """Return what may be a block's number or a runtime's version.

    Raises:
        ValueError: it is neither.
    """
    if not isinstance(number, int) or not 0 <= number <= _MOST:
        raise ValueError
    return number


def _said(one: Seen) -> str:
    return one.seen if isinstance(one, Silent) else f"a node that answers in {one.latency_s:.1f} s"
