"""The subnet and the hotkey's place on it: registration, permit, stake, and what else weights depend on."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from validator.chain.base import Chain, ChainError, NoSubnetError, SubnetParameters
from validator.chain.opening import real_chain
from validator.chain.simulated import SimulatedChain
from validator.chain.state import load_state
from validator.chain.subnet import SimulatedSubnet
from validator.chain.within import within
from validator.health.doctor.endpoints import nodes
from validator.health.doctor.finding import Check, Finding, NotLookedAtError, fault, note, ok, unknown, warning
from validator.health.doctor.site import LIMITS, Site
from validator.health.preconditions import preconditions
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.protocol.text import printable
from validator.weights.plan import mechanisms

_READER: Final = "//Doctor"  # signs nothing: reading needs no key, the chain's client wants one
_NODE: Final = "look at the node's log, or put another endpoint first in chain.endpoints"
_ADVICE: Final[Mapping[str, str]] = {
    "permit": "permits follow stake at the end of an epoch: stake more to this hotkey, or wait for the epoch's end",
    "stake": "stake more to this hotkey",
    "mechanism": "set weights.assessment_mechid and weights.workflow_mechid to mechanisms that the subnet has",
    "version_key": "upgrade this program",
    "commit_reveal": "name a node with the network's present runtime in chain.endpoints, or let the owner turn it off",
    "rate_limit": "nothing: the next weights wait for it",
}
_PASSING: Final = ("rate_limit",)  # what hinders now and is over by itself
_REGISTER: Final = "register it (`btcli subnets register`), or check [wallet] and validator.netuid"


class Subnet(NamedTuple):
    """What the chain says, all of it read within one look."""

    snapshot: MetagraphSnapshot
    parameters: SubnetParameters


class ChainFault(ChainError):  # noqa: N818 - a chain error that brings its advice
    """The subnet cannot be read.

    Args:
        seen: what is wrong.
        advice: what to do.
    """

    def __init__(self, seen: str, advice: str) -> None:
        self.seen = seen
        self.advice = advice
        super().__init__(seen)


async def subnet(site: Site) -> Subnet:
    """Return the subnet as it is now; for `Site.once`.

    Raises:
        ChainFault: it cannot be read.
        NotLookedAtError: no node answers, or the simulated chain is not made yet.
    """
    chain = await _chain(site)
    try:
        return await within(site.clock, site.limits.chain, _read(chain))
    except NoSubnetError:
        netuid = site.settings.validator.netuid
        raise ChainFault(f"the chain has no subnet {netuid}", "correct validator.netuid, or chain.endpoints") from None
    except (ChainError, TimeoutError) as error:
        raise ChainFault(f"the node answers, but the subnet cannot be read: {error}", _NODE) from None
    finally:
        await chain.close()


async def seen_subnet(site: Site) -> Subnet:
    """Return the subnet, for checks that only use it.

    Raises:
        NotLookedAtError: it cannot be read; the check of the subnet tells why.
    """
    try:
        return await site.once(subnet)
    except ChainError:
        raise NotLookedAtError("needs the subnet, which cannot be read") from None


async def _read(chain: Chain) -> Subnet:
    return Subnet(*await asyncio.gather(chain.snapshot(), chain.parameters()))


async def _chain(site: Site) -> Chain:
    settings = site.settings
    signer = site.signer or Signer.from_uri(_READER)
    if settings.chain.kind == "simulated":
        return SimulatedChain(simulated(site, settings.chain.state), signer.hotkey)
    if not await site.once(nodes):
        raise NotLookedAtError("needs an endpoint, and none is a node that can be used")
    return real_chain(settings, signer, site.clock)


def simulated(site: Site, file: Path | None) -> SimulatedSubnet:
    """Return the simulated subnet as its file has it; whatever is done to it, the file stays as it is.

    Raises:
        NotLookedAtError: there is no file yet.
        ChainFault: it cannot be used.
    """
    if file is None or not file.exists():
        raise NotLookedAtError("the simulated chain is made by the first `validator run`")
    try:
        state = load_state(file)
    except ChainError as error:
        advice = "set chain.state to a file that `validator run` made, or remove it to begin anew"
        raise ChainFault(f"chain.state: {error.detail}", advice) from None
    if state.rules.netuid != site.settings.validator.netuid:
        seen = f"{printable(str(file))} is of subnet {state.rules.netuid}, not of {site.settings.validator.netuid}"
        raise ChainFault(seen, "correct validator.netuid or chain.state")
    return SimulatedSubnet(state, site.clock)


async def _look(site: Site) -> list[Finding]:
    try:
        found = await site.once(subnet)
    except ChainFault as error:
        return [fault("subnet", error.seen, error.advice)]
    snapshot = found.snapshot
    size = (
        f"netuid {snapshot.netuid} at block {snapshot.block}, epoch {snapshot.epoch}: {len(snapshot.neurons)} neurons"
    )
    return [ok("subnet", size), *_hotkey(site, found)]


def _hotkey(site: Site, found: Subnet) -> Iterator[Finding]:
    snapshot, parameters = found
    if site.signer is None:
        yield unknown("registration", "needs the hotkey, which cannot be read")
        return
    me = snapshot.by_hotkey(site.signer.hotkey)
    if me is None:
        yield fault("registration", f"{site.signer.hotkey} is not registered on netuid {snapshot.netuid}", _REGISTER)
        return
    for name, reason, detail in preconditions(snapshot, parameters, me, max(mechanisms(site.settings.weights))):
        about = "registration" if name == "registered" else name.replace("_", " ")
        if reason is None:
            yield ok(about, detail)
        elif name in _PASSING:
            yield note(about, detail, _ADVICE[name])
        else:
            yield warning(about, f"{detail}: no weights could be sent now ({reason})", _ADVICE[name])


CHECK: Final = Check(
    "subnet",
    "The subnet and the hotkey on it: registration, permit, stake, mechanism, version key, rate limit.",
    _NODE,
    LIMITS.whole,
    _look,
)
