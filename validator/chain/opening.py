"""Choice of the settings' chain, real or simulated; writes a simulated one's missing file, and tells if it is local."""

import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from validator.chain.base import Chain, NoSubnetError
from validator.chain.limits import LIMITS
from validator.chain.simulated import SimulatedChain
from validator.chain.subnet import SimulatedSubnet, SubnetRules, load_state
from validator.protocol.errors import ValidatorError
from validator.protocol.signatures import Signer
from validator.settings.model import Settings
from validator.settings.urls import SecretUrl
from validator.sources import Clock

if TYPE_CHECKING:
    from validator.chain.bittensor import BittensorChain

_STAKE_TAO: Final = 1_000.0


class ChainFileError(ValidatorError):
    """The settings name something that this version cannot use."""


def real_chain(
    settings: Settings, signer: Signer, clock: Clock, endpoints: Sequence[SecretUrl] = ()
) -> "BittensorChain":
    """Return the chain at `endpoints`, or at the settings' if none are named; nothing is connected yet."""
    from validator.chain.bittensor import BittensorChain  # noqa: PLC0415 - the SDK takes a second

    return BittensorChain(
        endpoints=[endpoint.reveal() for endpoint in endpoints or settings.chain.endpoints],
        netuid=settings.validator.netuid,
        signer=signer,
        clock=clock,
        limits=LIMITS._replace(submit_s=min(LIMITS.submit_s, settings.weights.timeout_s)),
    )


def reading_chain(settings: Settings, clock: Clock) -> Chain:
    """Return the settings' chain for somebody who only reads: it takes no wallet, and must sign nothing.

    Raises:
        ChainError: the simulated chain's file cannot be read.
        ChainFileError: no such file is named, or it was not made yet.
    """
    if settings.chain.kind == "bittensor":
        return real_chain(settings, Signer.from_uri("//Reader"), clock)
    if settings.chain.state is None or not settings.chain.state.exists():
        raise ChainFileError("chain.state must name the simulated chain's file; `validator run` makes it")
    return SimulatedChain(SimulatedSubnet(load_state(settings.chain.state), clock), "")


def chain_of(settings: Settings, signer: Signer, clock: Clock) -> Chain:
    """Return the settings' chain; nothing is connected yet. The simulated one is made where its file is not there.

    Raises:
        ChainError: the simulated chain's file cannot be read, or is of another subnet.
        ChainFileError: no such file is named.
    """
    if settings.chain.kind == "bittensor":
        return real_chain(settings, signer, clock)
    if settings.chain.state is None:
        raise ChainFileError("chain.state must name the simulated chain's file")
    if not settings.chain.state.exists():
        _new_subnet(settings, settings.chain.state, signer, clock)
    subnet = SimulatedSubnet.open(settings.chain.state, clock)
    if subnet.rules.netuid != settings.validator.netuid:
        raise NoSubnetError(
            f"validator.netuid is {settings.validator.netuid}, but the simulated chain's file is of "
            f"{subnet.rules.netuid}; correct one of the two"
        )
    return SimulatedChain(subnet, signer.hotkey)


def _new_subnet(settings: Settings, file: Path, signer: Signer, clock: Clock) -> None:
    """Make a simulated subnet on which this validator alone is registered, with stake and permit: for dry runs."""
    rules = SubnetRules(seed=signer.hotkey, genesis=int(clock.now().timestamp()), netuid=settings.validator.netuid)
    SimulatedSubnet.create(rules, clock, file).register(signer.hotkey, stake_tao=_STAKE_TAO, validator_permit=True)


def chain_is_here(settings: Settings) -> bool:
    """Return whether the chain is inside this program or on this machine. Blocks while names are looked up.

    An endpoint on this machine says nothing about the network (SPEC 16, D-26).
    """
    return settings.chain.kind == "simulated" or on_this_machine(one.reveal() for one in settings.chain.endpoints)


def on_this_machine(endpoints: Iterable[str]) -> bool:
    """Return whether every endpoint is; blocks while names are looked up.

    Args:
        endpoints: ws:// or wss:// urls, or names of public networks, which are elsewhere.
    """
    return all(_is_here(urlsplit(endpoint).hostname) for endpoint in endpoints)


def _is_here(host: str | None) -> bool:
    if host is None:
        return False
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False  # not even a name: it is not this machine's own
    return all(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: tuple[object, ...]) -> bool:
    """Return whether a socket can be bound to the address: only one of this machine's own lets itself be."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as trial:
            trial.bind((address[0], 0))
    except OSError:
        return False
    return True
