"""This machine's clock, against the time of fresh blocks (SPEC 16, D-26)."""

import asyncio
from typing import Final

from validator.chain.clockwatch import MOST_OFF_S, ClockWatch
from validator.chain.probe import Node, NoNodeError, Rpc, block_time
from validator.health.catalogue import CONDITIONS
from validator.health.doctor.endpoints import nodes
from validator.health.doctor.finding import Check, Finding, NotLookedAtError, fault, note, ok, warning
from validator.health.doctor.site import LIMITS, Site
from validator.rounds.readiness import clock_fault

_EVERY_S: Final = 0.5
_STALE: Final = "wait for a new block and ask again; if none comes, the node or its chain stands still"


async def _look(site: Site) -> list[Finding]:
    if site.settings.chain.kind == "simulated":
        return [note("clock", "nothing to compare it with: a simulated chain's blocks follow it")]
    good = await site.once(nodes)
    timed = [node for node in good if node.time is not None and not node.syncing]
    if not timed:
        raise NotLookedAtError("needs the time of a block, and no endpoint gave one")
    freshest = max(timed, key=lambda node: node.time or 0.0)
    watch = ClockWatch(site.clock)
    watch.saw(freshest.height, freshest.time or 0.0)
    age = site.clock.now().timestamp() - (freshest.time or 0.0)
    if watch.unsure:
        await _wait_for_fresh(site, freshest, watch)
    return [_judged(watch, age)]


async def _wait_for_fresh(site: Site, node: Node, watch: ClockWatch) -> None:
    """Show the watch what the node has, until it knows or time is up."""
    try:
        async with asyncio.timeout(site.limits.fresh_block), Rpc(node.url) as rpc:
            while watch.unsure:
                block_hash = await rpc.ask("chain_getBlockHash")
                header = await rpc.ask("chain_getHeader", block_hash)
                made = await block_time(rpc, block_hash)
                if made is not None:
                    watch.saw(int(header["number"], 16), made)
                await site.clock.sleep(_EVERY_S)
    except (TimeoutError, NoNodeError, KeyError, TypeError, ValueError):
        return


def _judged(watch: ClockWatch, age: float) -> Finding:
    wrong = clock_fault(watch)
    if watch.wrong and wrong is not None:
        return fault("clock", wrong, CONDITIONS["local_clock"].advice)
    if watch.off is None:
        seen = f"the newest block is {age:.0f} s old: the clock is ahead, or the chain stands still"
        return warning("clock", seen, f"{_STALE}; compare the clock with a time server (`timedatectl`)")
    return ok("clock", f"no more than {MOST_OFF_S:.0f} s off: the newest block is {max(0.0, age):.0f} s old")


CHECK: Final = Check(
    "clock",
    "This machine's clock against the time of fresh blocks.",
    "compare the clock with a time server (`timedatectl`)",
    LIMITS.endpoint + LIMITS.fresh_block + 2.0,
    _look,
)
