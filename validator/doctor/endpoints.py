"""What answers at `chain.endpoints`: which chain, how fast, how high; or what does so instead."""

import asyncio
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from bittensor.settings import resolve_endpoint

from validator.doctor.finding import Check, Finding, fault, note, ok, warning
from validator.doctor.rpc import NoNodeError, Rpc
from validator.doctor.site import LIMITS, Site
from validator.protocol.text import printable
from validator.settings import SecretUrl

SPEC: Final = "node-subtensor"
# Where a runtime keeps the time of its newest block: twox_128("Timestamp") twox_128("Now").
_NOW: Final = "0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb"
_MOST: Final = 2**32 - 1
_NOW_BYTES: Final = 8  # a node may say anything
_BEHIND: Final = 20  # blocks between two endpoints, more than a slow one is behind
_SLOW_S: Final = 2.0  # for one answer
_SPARE: Final = "it is used when the others do not answer; correct or remove it"
_SILENT: Final = "look at the node's load and at the network; a firewall that drops looks like this, too"


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


async def endpoints(site: Site) -> tuple[Seen, ...]:
    """Return what is at each endpoint, in order; for `Site.once`."""
    listed = enumerate(site.settings.chain.endpoints, start=1)
    return tuple(await asyncio.gather(*(_at(place, one, site.limits.endpoint) for place, one in listed)))


async def nodes(site: Site) -> tuple[Node, ...]:
    """Return the endpoints that are subtensor nodes, the favourite first; for `Site.once`."""
    seen = await site.once(endpoints)
    return tuple(one for one in seen if isinstance(one, Node) and one.spec == SPEC)


async def block_time(rpc: Rpc, block_hash: str | None = None) -> float | None:
    """Return a block's time in seconds since the Unix epoch, the newest one's without a hash; None if it has none."""
    raw = await rpc.ask("state_getStorage", _NOW, *([block_hash] if block_hash else []))
    try:
        data = b"" if raw is None else bytes.fromhex(raw.removeprefix("0x"))
    except (AttributeError, TypeError, ValueError):
        return None
    return int.from_bytes(data, "little") / 1000 if 0 < len(data) <= _NOW_BYTES else None


async def _at(place: int, endpoint: SecretUrl, limit_s: float) -> Seen:
    began = time.monotonic()
    try:
        url = resolve_endpoint(endpoint.reveal())[1]
    except ValueError:
        return Silent(place, "no such network", "name `finney`, `test` or a ws:// or wss:// url in chain.endpoints")
    connected = False
    try:
        async with asyncio.timeout(limit_s), Rpc(url) as rpc:
            connected = True
            return await _asked(place, url, rpc)
    except TimeoutError:
        what = "connected, but no answer" if connected else "no websocket"
        return Silent(place, f"{what} within {time.monotonic() - began:.0f} s", _SILENT)
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


async def _look(site: Site) -> list[Finding]:
    if site.settings.chain.kind == "simulated":
        return [note("chain.endpoints", "none: the chain is simulated")]
    seen = await site.once(endpoints)
    good = await site.once(nodes)
    highest = max((node.height for node in good), default=0)
    shown = [str(endpoint) for endpoint in site.settings.chain.endpoints]
    found = [_of(one, shown[one.place - 1], highest, spare=bool(good)) for one in seen]
    return [*found, *_differing(good)]


def _of(one: Seen, shown: str, highest: int, *, spare: bool) -> Finding:
    about = f"endpoint {one.place}"
    if isinstance(one, Silent):
        seen = f"{shown}: {one.seen}"
        return warning(about, seen, f"{one.advice}; {_SPARE}") if spare else fault(about, seen, one.advice)
    if one.spec != SPEC:
        seen = f"{shown}: a node of another chain, `{one.chain}` ({one.spec}), no subtensor"
        return fault(about, seen, "name a subtensor node in chain.endpoints")
    seen = f"{shown}: {one.chain}, block {one.height}, runtime {one.version}, {one.latency_s * 1000:.0f} ms"
    if one.syncing or one.height + _BEHIND < highest:
        lag = f"{highest - one.height} blocks behind the others" if one.height < highest else "still catching up"
        return warning(about, f"{seen}; {lag}", "wait until it has caught up, or put another endpoint first")
    if one.latency_s > _SLOW_S:
        return warning(about, f"{seen} for an answer", "use a node near the validator, best one of your own")
    return ok(about, seen)


def _differing(good: Sequence[Node]) -> list[Finding]:
    chains = {node.genesis: node.chain for node in good}
    if len(chains) < 2:  # noqa: PLR2004 - two differ
        return []
    named = ", ".join(f"{node.place}: {node.chain} {node.genesis[:10]}…" for node in good)
    advice = "name endpoints of one chain: after a change of endpoint the validator would be on another"
    return [fault("chain.endpoints", f"they are of different chains: {named}", advice)]


CHECK: Final = Check(
    "endpoints",
    "Each of chain.endpoints: which chain and runtime, how high, how fast; what answers instead of a node.",
    "look at the network of this machine and at chain.endpoints",
    LIMITS.endpoint + 2.0,
    _look,
)
