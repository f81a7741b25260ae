"""Choice of the settings' chain, real or simulated, which an entry point brings; tells if it is local."""

import socket
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, Protocol, cast
from urllib.parse import urlsplit

from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.sources import Clock
from validator.chain.interface import Chain
from validator.chain.limits import LIMITS
from validator.settings.model import Settings
from validator.settings.urls import SecretUrl

if TYPE_CHECKING:
    from validator.chain.bittensor import BittensorChain

SIMULATORS: Final = "validator.simulators"


class ChainFileError(ValidatorError):
    """The settings name no file of a simulated chain, or one that is not made yet."""


class NoSimulatorError(ValidatorError):
    """The simulated chain is not installed."""


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


class Simulator(Protocol):
    """Interface of the simulated chain's entry point."""

    def open_chain(self, settings: Settings, signer: Signer, clock: Clock) -> Chain:
        """Return the chain in the settings' file, which is made if it does not exist (ChainError, ChainFileError)."""

    def read_chain(self, settings: Settings, clock: Clock, hotkey: str) -> Chain:
        """Return the chain in the settings' file, which stays as it is (ChainError, ChainFileError)."""

    def block_hash(self, settings: Settings, clock: Clock, number: int) -> str | None:
        """Return the hash of a block, None if it is not there yet (ChainError, ChainFileError)."""


def simulator() -> Simulator:
    """Return the simulated chain's entry point (NoSimulatorError: none is installed)."""
    for entry in entry_points(group=SIMULATORS):
        return cast("Simulator", entry.load())
    raise NoSimulatorError('chain.kind = "simulated" needs the local network: install sssa-localnet')


def reading_chain(settings: Settings, clock: Clock) -> Chain:
    """Return the settings' chain for reading alone: without a wallet, and it must sign nothing.

    Raises:
        ChainError: the simulated chain's file cannot be read, or is of another subnet.
        ChainFileError: no such file is named, or it was not made yet.
        NoSimulatorError: the simulated chain is not installed.
    """
    if settings.chain.kind == "bittensor":
        return real_chain(settings, Signer.from_uri("//Reader"), clock)
    return simulator().read_chain(settings, clock, "")


def chain_of(settings: Settings, signer: Signer, clock: Clock) -> Chain:
    """Return the settings' chain; nothing is connected yet. The simulated one is made if its file does not exist.

    Raises:
        ChainError: the simulated chain's file cannot be read, or is of another subnet.
        ChainFileError: no such file is named.
        NoSimulatorError: the simulated chain is not installed.
    """
    if settings.chain.kind == "bittensor":
        return real_chain(settings, signer, clock)
    return simulator().open_chain(settings, signer, clock)


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
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False  # not even a name: it is not this machine's own
    return all(_is_own(family, address) for family, _, _, _, address in addresses)


def _is_own(family: int, address: tuple[object, ...]) -> bool:
    """Return whether a socket can be bound to the address, which only an address of this machine allows."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as trial:
            trial.bind((address[0], 0))
    except OSError:
        return False
    return True
