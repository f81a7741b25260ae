"""Doctor's checks of the network: endpoints of the chain, the subnet and the hotkey on it, the clock, the miners."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from sqlalchemy.exc import DBAPIError

from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon, MetagraphSnapshot
from sssa.protocol.signatures import Signer
from validator.cancellation import within
from validator.chain.clockwatch import MOST_OFF_S, ClockWatch
from validator.chain.interface import SLOW_S, Chain, ChainError, NoSubnetError, SubnetParameters
from validator.chain.opening import ChainFileError, NoSimulatorError, real_chain, simulator
from validator.chain.probe import SPEC, Node, NoNodeError, ProbeResult, Rpc, block_time, endpoint_problems, look_at
from validator.chain.runtime_rules import preconditions
from validator.health.catalogue import CONDITIONS
from validator.health.doctor.examination import (
    LIMITS,
    Finding,
    NotSeenError,
    Site,
    check,
    fault,
    note,
    ok,
    unknown,
    warning,
)
from validator.health.rounds import counted
from validator.miners.client import HttpMinerClient
from validator.miners.directory import Declaration, Refused, ask_declaration
from validator.rounds.readiness import clock_fault
from validator.store import open_store
from validator.store.errors import StoreError
from validator.weights.plan import mechanisms

_SPARE: Final = "it is used when the others do not answer; correct or remove it"


async def endpoints(site: Site) -> tuple[ProbeResult, ...]:
    """Return a probe of each endpoint, in order; for `Site.once`."""
    looks = (look_at(one.reveal(), site.limits.endpoint) for one in site.settings.chain.endpoints)
    return tuple(await asyncio.gather(*looks))


async def faults(site: Site) -> Sequence[str]:
    """Return why each endpoint is unusable, by the validator's own rules; for `Site.once`."""
    return endpoint_problems(await site.once(endpoints), await site.once(store_genesis))


async def store_genesis(site: Site) -> str | None:
    """Return the genesis of the store's chain, None where that cannot be read; for `Site.once`."""
    try:
        async with open_store(site.settings.store.url.reveal()) as store, store.read() as tx:
            known = await tx.chain.get()
    except (StoreError, DBAPIError, OSError):
        return None
    return None if known is None else known.genesis


async def nodes(site: Site) -> tuple[Node, ...]:
    """Return the healthy endpoints, the preferred one first; without one, all subtensor nodes; for `Site.once`."""
    seen = zip(await site.once(endpoints), await site.once(faults), strict=True)
    good = [(one, reason) for one, reason in seen if isinstance(one, Node) and one.spec == SPEC]
    return tuple(one for one, reason in good if not reason) or tuple(one for one, _ in good)


@check("look at the network of this machine and at chain.endpoints", LIMITS.chain)
async def check_endpoints(site: Site) -> list[Finding]:
    """Each of chain.endpoints: which chain and runtime, how high, how fast; what answers instead of a node."""
    if site.settings.chain.kind == "simulated":
        return [note("chain.endpoints", "none: the chain is simulated")]
    seen, reasons = await site.once(endpoints), await site.once(faults)
    listed = zip(site.settings.chain.endpoints, seen, reasons, strict=True)
    findings = [
        _endpoint(f"endpoint {place}", str(shown), one, reason, spare="" in reasons)
        for place, (shown, one, reason) in enumerate(listed, start=1)
    ]
    return [*findings, *(() if await site.once(store_genesis) else _differing(seen))]


def _endpoint(about: str, shown: str, one: ProbeResult, reason: str, *, spare: bool) -> Finding:
    if isinstance(one, NoNodeError):
        seen = f"{shown}: {one.seen}"
        return (
            warning(about, seen, f"{one.advice}; {_SPARE}")
            if spare
            else fault(about, seen, one.advice, "chain_unreachable")
        )
    if one.spec != SPEC:
        return fault(about, f"{shown}: {reason}", "name a subtensor node in chain.endpoints", "chain_unreachable")
    seen = f"{shown}: {one.chain}, block {one.height}, runtime {one.version}, {one.latency_s * 1000:.0f} ms"
    if reason:
        condition = "chain_slow" if one.latency_s > SLOW_S else "chain_endpoint_unhealthy"
        return warning(about, f"{seen}; {reason}", condition=condition)
    if one.latency_s > SLOW_S:
        return warning(about, f"{seen}; slow: {one.latency_s:.1f} s a call", condition="chain_slow")
    return ok(about, seen)


def _differing(seen: Sequence[ProbeResult]) -> list[Finding]:
    good = {place: one for place, one in enumerate(seen, start=1) if isinstance(one, Node) and one.spec == SPEC}
    if len({node.genesis for node in good.values()}) < 2:  # noqa: PLR2004 - two differ
        return []
    named = ", ".join(f"{place}: {node.chain} {node.genesis[:10]}…" for place, node in good.items())
    return [fault("chain.endpoints", f"they are of different chains: {named}", condition="other_chain")]


_READER: Final = "//Doctor"  # signs nothing: reading needs no key, the chain's client wants one
_NODE: Final = "look at the node's log, or put another endpoint first in chain.endpoints"


class Subnet(NamedTuple):
    """The subnet on the chain, read within one look."""

    snapshot: MetagraphSnapshot
    parameters: SubnetParameters


class ChainFault(ChainError):  # noqa: N818 - a chain error that brings its advice
    """The subnet cannot be read."""

    def __init__(self, seen: str, advice: str = "", condition: str = "") -> None:
        self.finding = fault("subnet", seen, advice, condition)
        super().__init__(seen)


async def subnet(site: Site) -> Subnet:
    """Return the current subnet; for `Site.once` (ChainFault, or NotSeenError: no endpoint is usable)."""
    chain = await _opened(site)
    try:
        return await within(site.clock, site.limits.chain, _read_subnet(chain))
    except NoSubnetError:
        netuid = site.settings.validator.netuid
        raise ChainFault(f"the chain has no subnet {netuid}", condition="no_subnet") from None
    except (ChainError, TimeoutError) as error:
        raise ChainFault(f"the node answers, but the subnet cannot be read: {error}", _NODE) from None
    finally:
        await chain.close()


async def seen_subnet(site: Site) -> Subnet:
    """Return the subnet, for checks that only use it (NotSeenError: the check of the subnet explains why)."""
    try:
        return await site.once(subnet)
    except ChainError:
        raise NotSeenError("needs the subnet, which cannot be read") from None


async def _read_subnet(chain: Chain) -> Subnet:
    return Subnet(*await asyncio.gather(chain.snapshot(), chain.parameters()))


async def _opened(site: Site) -> Chain:
    settings = site.settings
    signer = site.signer or Signer.from_uri(_READER)
    if settings.chain.kind == "simulated":
        return simulated(site, signer)
    good = await site.once(nodes)
    if not good:
        raise NotSeenError("needs an endpoint, and none is a node that can be used")
    listed = zip(settings.chain.endpoints, await site.once(endpoints), strict=True)
    return real_chain(settings, signer, site.clock, [endpoint for endpoint, one in listed if one in good])


def simulated(site: Site, signer: Signer | None = None) -> Chain:
    """Return the simulated chain of its file, which is not changed (NotSeenError)."""
    with simulation():
        return simulator().read_chain(site.settings, site.clock, signer.hotkey if signer else "")


@contextmanager
def simulation() -> Iterator[None]:
    """Turn the errors of a simulated chain into findings (NotSeenError, ChainFault)."""
    try:
        yield
    except ChainFileError:
        raise NotSeenError("the simulated chain is made by the first `validator run`") from None
    except NoSimulatorError as error:
        raise ChainFault(error.detail, "install it next to the validator, or name a node in chain.endpoints") from None
    except NoSubnetError as error:
        raise ChainFault(error.detail, "correct validator.netuid or chain.state", "no_subnet") from None
    except ChainError as error:
        advice = "set chain.state to a file that `validator run` made, or remove it to begin anew"
        raise ChainFault(f"chain.state: {error.detail}", advice) from None


@check(_NODE, LIMITS.whole)
async def check_subnet(site: Site) -> list[Finding]:
    """The subnet and the hotkey on it: registration, permit, stake, mechanism, version key, rate limit."""
    try:
        chain_subnet = await site.once(subnet)
    except ChainFault as error:
        return [error.finding]
    snapshot = chain_subnet.snapshot
    size = (
        f"netuid {snapshot.netuid} at block {snapshot.block}, epoch {snapshot.epoch}: {len(snapshot.neurons)} neurons"
    )
    return [ok("subnet", size), *_on_subnet(site, chain_subnet)]


def _on_subnet(site: Site, chain_subnet: Subnet) -> Iterator[Finding]:
    snapshot, parameters = chain_subnet
    if site.signer is None:
        yield unknown("registration", "needs the hotkey, which cannot be read")
        return
    me = snapshot.by_hotkey(site.signer.hotkey)
    if me is None:
        seen = f"{site.signer.hotkey} is not registered on netuid {snapshot.netuid}"
        yield fault("registration", seen, condition="not_registered")
        return
    yield ok("registration", f"uid {me.uid} on netuid {snapshot.netuid}")
    for rule, verdict in preconditions(snapshot, parameters, me, max(mechanisms(site.settings.weights))):
        about, detail = rule.name.replace("_", " "), verdict.detail
        if not verdict.refused:
            yield ok(about, detail)
        elif verdict.passes:
            yield note(about, detail, verdict.advice)
        else:
            condition = "no_standing" if rule.reason == Reason.WEIGHTS_NO_PERMIT else ""
            yield warning(about, f"{detail}: no weights could be sent now ({rule.reason})", verdict.advice, condition)


_EVERY_S: Final = 0.5
_OLD_BLOCK: Final = "wait for a new block and ask again; if none comes, the node or its chain has stopped"


@check("compare the clock with a time server (`timedatectl`)", LIMITS.endpoint + LIMITS.fresh_block + 2.0)
async def check_clock(site: Site) -> list[Finding]:
    """This machine's clock against the time of fresh blocks."""
    if site.settings.chain.kind == "simulated":
        return [note("clock", "nothing to compare it with: a simulated chain's blocks follow it")]
    good = await site.once(nodes)
    timed = [node for node in good if node.time is not None and not node.syncing]
    if not timed:
        raise NotSeenError("needs the time of a block, and no endpoint gave one")
    freshest = max(timed, key=lambda node: node.time or 0.0)
    watch = ClockWatch(site.clock)
    watch.record_block(freshest.height, freshest.time or 0.0)
    age = site.clock.now().timestamp() - (freshest.time or 0.0)
    if watch.unsure:
        await _wait_for_fresh(site, freshest, watch)
    return [_clock_finding(watch, age)]


async def _wait_for_fresh(site: Site, node: Node, watch: ClockWatch) -> None:
    """Record the node's blocks in the watch until it has a result or time is up."""
    try:
        async with asyncio.timeout(site.limits.fresh_block), Rpc(node.url) as rpc:
            while watch.unsure:
                block_hash = await rpc.ask("chain_getBlockHash")
                header = await rpc.ask("chain_getHeader", block_hash)
                made = await block_time(rpc, block_hash)
                if made is not None:
                    watch.record_block(int(header["number"], 16), made)
                await site.clock.sleep(_EVERY_S)
    except (TimeoutError, NoNodeError, KeyError, TypeError, ValueError):
        return


def _clock_finding(watch: ClockWatch, age: float) -> Finding:
    wrong = clock_fault(watch)
    if watch.wrong and wrong is not None:
        return fault("clock", wrong, condition="local_clock")
    if watch.off is None:
        seen = f"the newest block is {age:.0f} s old: the clock is ahead, or the chain has stopped"
        return warning(
            "clock", seen, f"{_OLD_BLOCK}; compare the clock with a time server (`timedatectl`)", "chain_stale"
        )
    return ok("clock", f"no more than {MOST_OFF_S:.0f} s off: the newest block is {max(0.0, age):.0f} s old")


_OPEN: Final = 64
_CONNECT_S: Final = 4.0
_THEIRS: Final = "nothing, if they are few: these miners are offline or send what does not count"
_BY_REASON: Final[Mapping[Reason, str]] = {
    Reason.DECLARATION_FUTURE: CONDITIONS["declarations_refused"].advice,
    Reason.DECLARATION_EXPIRED: CONDITIONS["declarations_refused"].advice,
    Reason.DEADLINE_AXON_REFUSED: "nothing: they announce private addresses, which are called in local networks only",
    Reason.DEADLINE_CONNECT: "look at this machine's way out: a firewall, a proxy, no IPv6",
    Reason.LOCAL_RESOURCES: "raise the limit of file descriptors (`ulimit -n`), free memory and disk",
}


@check("look at this machine's way out", LIMITS.whole)
async def check_miners(site: Site) -> list[Finding]:
    """Number of registered miners with a valid declaration, and the reasons of the others."""
    snapshot = (await seen_subnet(site)).snapshot
    if site.signer is None:
        raise NotSeenError("needs the hotkey, which cannot be read, to sign what it asks")
    listening = [
        (one.hotkey, one.axon) for one in snapshot.neurons if one.axon is not None and one.hotkey != site.signer.hotkey
    ]
    if not listening:
        return [note("miners", f"none of {len(snapshot.neurons)} neurons has an address", condition="rounds_no_miners")]
    answers = await _ask_declarations(site, site.signer, listening)
    return [_declared(len(listening), answers)]


async def _ask_declarations(
    site: Site, signer: Signer, listening: Sequence[tuple[str, Axon]]
) -> list[Declaration | Refused]:
    """Return the replies that came in time; they are not stored."""
    client = HttpMinerClient(
        signer, max_open=_OPEN, connect_timeout_s=_CONNECT_S, allow_private=site.settings.miners.allow_private_axons
    )
    workers = site.workers()
    asking = [
        asyncio.create_task(ask_declaration(client, workers, site.clock, hotkey, axon)) for hotkey, axon in listening
    ]
    try:
        done, late = await asyncio.wait(asking, timeout=site.limits.miners)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return [task.result() for task in asking if task in done]
    finally:
        await client.close()
        await workers.close()


def _declared(queried: int, answers: Sequence[Declaration | Refused]) -> Finding:
    refused = Counter(answer.reason for answer in answers if isinstance(answer, Refused))
    valid = len(answers) - refused.total()
    why = f"; the others: {counted(refused)}" if refused else ""
    late = f"; {queried - len(answers)} had not answered when time was up" if queried > len(answers) else ""
    seen = f"{valid} of {queried} that have an address answer with a declaration that counts{why}{late}"
    if 2 * valid >= queried:
        return ok("miners", seen)
    most = refused.most_common(1)[0][0] if refused else None
    advice = _THEIRS if most is None else _BY_REASON.get(most, _THEIRS)
    return warning("miners", seen, advice, "" if valid else "declarations_refused")
