"""One reference miner on a given chain, `validator miner run`: announces its axon and serves. For local networks."""

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from miner.analysis_pool import AnalysisPool
from miner.assessment import Kit
from miner.behaviours import answer_thoroughly, paced
from miner.server import HOST, LocalMiner
from miner.tracing import Tracer
from sssa.protocol.errors import ValidatorError
from sssa.protocol.round import Axon, MetagraphSnapshot
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.chain.interface import ChainError, NotRegisteredError
from validator.chain.opening import real_chain
from validator.daemon.signals import Stop
from validator.settings.model import Settings
from validator.telemetry import Event

if TYPE_CHECKING:
    from validator.chain.bittensor import BittensorChain

_REFRESH_S: Final = 60.0
_log = structlog.get_logger()


class ListeningError(ValidatorError, OSError):
    """The miner cannot listen."""


class AnnouncementError(ValidatorError):
    """The miner cannot announce itself."""


class MinerChain(Protocol):
    """Chain calls of a miner."""

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet."""

    async def announce_axon(self, ip: str, port: int) -> None:
        """Announce where this hotkey listens."""


@dataclass(frozen=True, slots=True)
class MinerOptions:
    """Options of one miner.

    Attributes:
        host, port: where it listens; port 0 takes a free one.
        announced: address and port to put on chain, None to announce nothing; port 0 stands for the one listened on.
        validators: hotkeys that are answered; none: those that hold a validator permit, looked up every minute.
    """

    host: str = HOST
    port: int = 0
    announced: Axon | None = None
    validators: tuple[str, ...] = ()


class PermitHolders:
    """The hotkeys that a miner answers: named ones, or anyone who holds a permit by the newest look at the chain."""

    def __init__(self, named: Iterable[str]) -> None:
        self._hotkeys = frozenset(named)
        self.named = bool(self._hotkeys)

    def __contains__(self, hotkey: object) -> bool:
        return hotkey in self._hotkeys

    def look(self, snapshot: MetagraphSnapshot) -> None:
        """Take the permit holders of a snapshot, unless hotkeys were named."""
        if not self.named:
            self._hotkeys = frozenset(n.hotkey for n in snapshot.neurons if n.validator_permit)


def address_to_announce(ip: str | None, port: int | None) -> Axon:
    """Return what `--external-ip` and `--external-port` say; port 0 stands for the port that is listened on.

    Raises:
        AnnouncementError: no address, or one that the chain takes from nobody.
    """
    if ip is None:
        raise AnnouncementError("--announce needs --external-ip, the address at which validators reach this machine")
    try:
        address = ip_address(ip)
    except ValueError:
        raise AnnouncementError(f"--external-ip {printable(ip, 80)} is no IPv4 or IPv6 address") from None
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        raise AnnouncementError(f"--external-ip {address}: the chain takes none of this kind; use the machine's own")
    return Axon(str(address), port or 0)


def chain_for(settings: Settings, signer: Signer, clock: Clock, options: MinerOptions) -> "BittensorChain | None":
    """Return the real chain, None where the miner needs none.

    Raises:
        AnnouncementError: it needs one, and the settings name a simulated chain, which lives in another process.
    """
    if options.validators and options.announced is None:
        return None
    if settings.chain.kind != "bittensor":
        raise AnnouncementError('chain.kind must be "bittensor"; without a chain, name --validator and do not announce')
    return real_chain(settings, signer, clock)


async def run_miner(
    signer: Signer, clock: Clock, options: MinerOptions, stop: Stop, chain: MinerChain | None = None
) -> None:
    """Serve until told to stop. Bundles that arrive are analyzed and never executed: the probes alone are performed.

    Without a chain, which tells who holds a permit, validators must be named, and nothing is announced.

    Raises:
        ListeningError: it cannot start.
        ChainError: no look at the chain at the start, no slot on the subnet, or the announcement was refused.
    """
    holders = PermitHolders(options.validators)
    async with AsyncExitStack() as stack:
        analyses = AnalysisPool()
        stack.push_async_callback(analyses.close)
        kit = Kit(signer, analyses, Tracer())
        miner = LocalMiner(kit, paced(answer_thoroughly, pace_s=0.0), holders, clock)
        stack.push_async_callback(miner.close)
        axon = await _listen(miner, options)
        _log.info(Event.MINER_STARTED, hotkey=signer.hotkey, host=axon.ip, port=axon.port)
        if chain is None:
            await stop.requested.wait()
            return
        wanted = options.announced
        announced = None if wanted is None else Axon(wanted.ip, wanted.port or axon.port)
        holders.look(await appear(chain, signer.hotkey, announced))
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_follow(chain, clock, holders))
            await stop.requested.wait()
            watch.cancel()


async def _listen(miner: LocalMiner, options: MinerOptions) -> Axon:
    try:
        return await miner.start(options.host, options.port)
    except OSError as error:
        raise ListeningError(f"{printable(options.host)} port {options.port}: {error.strerror or error}") from None


async def appear(chain: MinerChain, hotkey: str, axon: Axon | None) -> MetagraphSnapshot:
    """Look at the chain once and announce the axon, unless it exists already: the chain limits how often.

    Raises:
        NotRegisteredError: the hotkey has no slot.
        ChainError: the chain cannot be read, or refused the announcement.
    """
    snapshot = await chain.snapshot()
    if axon is None:
        return snapshot
    me = snapshot.by_hotkey(hotkey)
    if me is None:
        raise NotRegisteredError(f"{hotkey} on netuid {snapshot.netuid}; register it before it announces itself")
    if me.axon is None or (me.axon.ip, me.axon.port) != (axon.ip, axon.port):
        await chain.announce_axon(axon.ip, axon.port)
    _log.info(Event.MINER_ANNOUNCED, netuid=snapshot.netuid, uid=me.uid, ip=axon.ip, port=axon.port)
    return snapshot


async def _follow(chain: MinerChain, clock: Clock, holders: PermitHolders) -> None:
    while True:
        await clock.sleep(_REFRESH_S)
        try:
            holders.look(await chain.snapshot())
        except ChainError as error:
            _log.warning(Event.CHAIN_UNREACHABLE, reason=str(error))
