"""What the store remembers, against the chain that the settings name: is it a store of this chain?"""

import asyncio
from typing import Final

from validator.chain.base import ChainError
from validator.chain.probe import NoNodeError, Rpc
from validator.health.doctor.endpoints import nodes
from validator.health.doctor.finding import Check, Finding, NotLookedAtError, fault, note, ok, unknown
from validator.health.doctor.site import LIMITS, Site
from validator.health.doctor.subnet import simulated
from validator.protocol.text import printable
from validator.protocol.times import format_time
from validator.store import open_store
from validator.store.belonging import require_chain
from validator.store.errors import OtherChainError, StoreError
from validator.store.records import RoundRecord

_CHAIN: Final = "chain of the store"
_OTHER: Final = "name the chain's endpoints that this store was made on, or begin a new store (another store.url)"


async def _look(site: Site) -> list[Finding]:
    genesis = await _genesis(site)
    belongs: Finding | None = None
    try:
        async with open_store(site.settings.store.url.reveal()) as store, store.read() as tx:
            rounds = await tx.rounds.listing(1)
            if genesis is not None:
                await require_chain(tx, genesis, site.settings.validator.netuid)
    except OtherChainError as error:
        belongs = fault(_CHAIN, error.detail, _OTHER)
    except StoreError:
        raise NotLookedAtError("needs the store, which cannot be read or has no tables yet") from None
    if not rounds:
        return [note("rounds", "none yet"), *([belongs] if belongs else [])]
    return [_newest(rounds[0]), belongs or await _chain(site, rounds[0])]


async def _genesis(site: Site) -> str | None:
    """Return the chain's, lower-case hex without 0x; None where no chain can be read."""
    try:
        if site.settings.chain.kind == "simulated":
            return simulated(site, site.settings.chain.state).blocks.identity
        good = await site.once(nodes)
    except (NotLookedAtError, ChainError):
        return None
    return good[0].genesis.lower().removeprefix("0x") if good else None


def _newest(newest: RoundRecord) -> Finding:
    when = format_time(newest.settled_at or newest.started_at)
    reason = f", {newest.reason}" if newest.reason is not None and newest.reason != newest.state else ""
    return ok("rounds", f"the newest is {newest.round_id}: {newest.state}{reason}, {when}")


async def _chain(site: Site, newest: RoundRecord) -> Finding:
    """Hold the block that the newest round is pinned to against the chain's."""
    try:
        there = await _block_hash(site, newest.block)
    except NotLookedAtError as error:
        return unknown(_CHAIN, error.detail)
    except (NoNodeError, ChainError, TimeoutError):
        return unknown(_CHAIN, "needs the chain, which cannot be read")
    if there is None:
        seen = f"round {newest.round_id} is pinned to block {newest.block}, which the chain does not have"
        return fault(_CHAIN, seen, f"wait if the node catches up; else {_OTHER}")
    if there.lower().removeprefix("0x") != newest.block_hash.lower().removeprefix("0x"):
        seen = (
            f"round {newest.round_id} is pinned to block {newest.block} {newest.block_hash[:12]}…, "
            f"the chain has {printable(there, 80)[:12]}… there"
        )
        return fault(_CHAIN, seen, _OTHER)
    return ok(_CHAIN, f"block {newest.block} of round {newest.round_id} is on it")


async def _block_hash(site: Site, number: int) -> str | None:
    if site.settings.chain.kind == "simulated":
        blocks = simulated(site, site.settings.chain.state).blocks
        return blocks.hash(number) if number <= blocks.number() else None
    good = await site.once(nodes)
    if not good:
        raise NotLookedAtError("needs an endpoint, and none is a node that can be used")
    async with asyncio.timeout(site.limits.endpoint), Rpc(good[0].url) as rpc:
        found = await rpc.ask("chain_getBlockHash", number)
    return found if isinstance(found, str) else None


CHECK: Final = Check(
    "history",
    "The newest round in the store, and whether the chain is the one that the store belongs to.",
    "look at the database",
    LIMITS.database + LIMITS.endpoint,
    _look,
)
