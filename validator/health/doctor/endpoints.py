"""What answers at `chain.endpoints`: which chain, how fast, how high; or what does so instead."""

import asyncio
from collections.abc import Sequence
from typing import Final

from validator.chain.base import MOST_BEHIND, SLOW_S
from validator.chain.probe import Node, Seen, Silent, look_at
from validator.health.doctor.finding import Check, Finding, fault, note, ok, warning
from validator.health.doctor.site import LIMITS, Site

SPEC: Final = "node-subtensor"
_SPARE: Final = "it is used when the others do not answer; correct or remove it"


async def endpoints(site: Site) -> tuple[Seen, ...]:
    """Return what is at each endpoint, in order; for `Site.once`."""
    listed = enumerate(site.settings.chain.endpoints, start=1)
    return tuple(await asyncio.gather(*(look_at(place, one.reveal(), site.limits.endpoint) for place, one in listed)))


async def nodes(site: Site) -> tuple[Node, ...]:
    """Return the endpoints that are subtensor nodes, the favourite first; for `Site.once`."""
    seen = await site.once(endpoints)
    return tuple(one for one in seen if isinstance(one, Node) and one.spec == SPEC)


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
    if one.syncing or one.height + MOST_BEHIND < highest:
        lag = f"{highest - one.height} blocks behind the others" if one.height < highest else "still catching up"
        return warning(about, f"{seen}; {lag}", "wait until it has caught up, or put another endpoint first")
    if one.latency_s > SLOW_S:
        return warning(
            about, f"{seen}; slow: {one.latency_s:.1f} s a call", "use a node near the validator, best one of your own"
        )
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
    LIMITS.chain,
    _look,
)
