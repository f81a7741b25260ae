"""The simulated chain: the Chain protocol over a subnet in this process. For tests, the local network and dry runs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localnet.chain.subnet import Pending, SimulatedSubnet, SubnetRules, load_state
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.signatures import Signer
from sssa.sources import Clock
from validator.chain.interface import (
    ChainError,
    ChainUnreachableError,
    Commitment,
    EndpointUse,
    Head,
    NoSubnetError,
    OtherChainError,
    SubnetParameters,
    ValidatorFigures,
    WeightsResult,
)
from validator.chain.opening import ChainFileError
from validator.settings.model import Settings


@dataclass(slots=True)
class Faults:
    """Faults of the simulated connection.

    Attributes:
        unreachable_until: below this block nothing can be reached.
        unsent: so many submissions that the connection loses before they leave.
        broken: so many submissions after which the connection breaks: they are on their way.
        lost_answers: so many submissions whose answer never arrives, whatever the result.
        delay: how many blocks later than the newest one submissions are included; None: the pool loses them.
        gone: the chain has no such subnet any more.
    """

    unreachable_until: int = 0
    unsent: int = 0
    broken: int = 0
    lost_answers: int = 0
    delay: int | None = 0
    gone: bool = False


class SimulatedChain:
    """One hotkey's connection to a simulated subnet."""

    def __init__(self, subnet: SimulatedSubnet, hotkey: str) -> None:
        self.subnet = subnet
        self.faults = Faults()
        self._hotkey = hotkey
        self._genesis = subnet.blocks.identity
        self._closed = False

    @property
    def latency_s(self) -> float | None:
        """No time at all."""
        return 0.0

    @property
    def endpoint_use(self) -> EndpointUse:
        """No endpoints."""
        return EndpointUse()

    def expect(self, genesis: str) -> None:
        """Do nothing: there is one chain."""

    async def genesis(self) -> str:
        """Return what tells these blocks from all others."""
        self._reach()
        return self._genesis

    async def head(self) -> Head:
        """Return the newest block."""
        self._reach()
        self._look()
        return self.subnet.blocks.head()

    async def wait_for_block(self, number: int) -> Head:
        """Return the newest block once its number is at least `number`."""
        self._reach()
        await self.subnet.blocks.wait_for(number)
        return await self.head()

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as of the newest block."""
        self._reach()
        self._look()
        return self.subnet.snapshot()

    async def parameters(self) -> SubnetParameters:
        """Return the subnet's parameters."""
        self._reach()
        return self.subnet.parameters()

    async def validators(self) -> Sequence[ValidatorFigures]:
        """Return the figures of all neurons with a validator permit."""
        self._reach()
        return self.subnet.validators()

    async def set_weights(
        self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int, head: int | None = None
    ) -> WeightsResult:
        """Submit weights; without faults they are in the newest block at once."""
        number = self.subnet.blocks.number()
        lifetime = self.submission_lifetime(valid_blocks) - (number - (number if head is None else head))
        if lifetime < 1:
            raise ChainUnreachableError(f"simulated: block {number}, and it is made for block {head}")
        return await self._answered(
            lambda delay: self.subnet.submit(self._hotkey, mechid, weights, delay=delay, valid_blocks=lifetime)
        )

    async def commitment(self, hotkey: str) -> Commitment | None:
        """Return what a hotkey has committed to."""
        self._reach()
        return self.subnet.commitment(hotkey)

    async def set_commitment(self, content: bytes, *, valid_blocks: int) -> WeightsResult:
        """Commit to `content`; without faults it is in the newest block at once."""
        lifetime = self.submission_lifetime(valid_blocks)
        return await self._answered(
            lambda delay: self.subnet.submit_commitment(self._hotkey, content, delay=delay, valid_blocks=lifetime)
        )

    async def _answered(self, submit: Callable[[int | None], Pending]) -> WeightsResult:
        """Submit, unless the connection breaks first, and wait for the result of it."""
        self._reach()
        faults = self.faults
        if faults.unsent > 0:
            faults.unsent -= 1
            raise ChainUnreachableError("simulated: the connection broke before anything was sent")
        pending = submit(faults.delay)
        if faults.broken > 0:
            faults.broken -= 1
            raise ChainError("simulated: the connection broke after it was sent")
        if faults.lost_answers > 0:
            faults.lost_answers -= 1
            await asyncio.Event().wait()
        while pending.result is None:
            number = self.subnet.blocks.number()
            if number > pending.expires:
                raise ChainError("simulated: no block holds it")
            try:
                await self.wait_for_block(number + 1)
            except ChainUnreachableError as error:  # what was sent may be included all the same
                raise ChainError(f"simulated: the connection broke while it waited: {error}") from None
            self.subnet.snapshot()  # looking makes it take what is due
        return pending.result

    def submission_lifetime(self, valid_blocks: int) -> int:
        """Return the next power of two, at least 4: what a chain makes of an era."""
        return max(4, 1 << (valid_blocks - 1).bit_length())

    async def last_update(self, mechid: int, uid: int) -> int:
        """Return the block of the neuron's last weights or commitment."""
        self._reach()
        return self.subnet.last_update(mechid, uid)

    async def registered_at(self, uid: int) -> int:
        """Return the block at which the holder of `uid` registered."""
        self._reach()
        return self.subnet.registered_at(uid)

    async def commits(self, mechid: int) -> Sequence[int]:
        """Return the blocks of this hotkey's commits that are not revealed."""
        self._reach()
        return self.subnet.commits(mechid, self._hotkey)

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        """Return the weights that the neuron at `uid` has set."""
        self._reach()
        return self.subnet.weights(mechid, uid)

    async def close(self) -> None:
        """Drop the connection; the subnet lives on."""
        self._closed = True

    def _look(self) -> None:
        if self.faults.gone:
            raise NoSubnetError(f"netuid {self.subnet.rules.netuid}: simulated")

    def _reach(self) -> None:
        if self._closed:
            raise ChainError("the connection was closed")
        if self.subnet.blocks.number() < self.faults.unreachable_until:
            raise ChainUnreachableError(f"simulated outage until block {self.faults.unreachable_until}")
        if self.subnet.blocks.identity != self._genesis:
            raise OtherChainError(f"its genesis is {self.subnet.blocks.identity}, not {self._genesis}")


_STAKE_TAO: Final = 1_000.0


class InstalledSimulator:
    """The simulated chain of this distribution; see `Simulator`."""

    def open_chain(self, settings: Settings, signer: Signer, clock: Clock) -> SimulatedChain:
        """Return the chain in the settings' file, made where there is none: this validator alone, for dry runs."""
        file = _file_of(settings)
        if not file.exists():
            genesis = int(clock.now().timestamp())
            rules = SubnetRules(seed=signer.hotkey, genesis=genesis, netuid=settings.validator.netuid)
            subnet = SimulatedSubnet.create(rules, clock, file)
            subnet.register(signer.hotkey, stake_tao=_STAKE_TAO, validator_permit=True)
        return SimulatedChain(_checked(settings, SimulatedSubnet.open(file, clock)), signer.hotkey)

    def read_chain(self, settings: Settings, clock: Clock, hotkey: str) -> SimulatedChain:
        """Return the chain in the settings' file, which stays as it is."""
        return SimulatedChain(_read(settings, clock), hotkey)

    def block_hash(self, settings: Settings, clock: Clock, number: int) -> str | None:
        """Return the hash of a block, None if it is not there yet."""
        blocks = _read(settings, clock).blocks
        return blocks.hash(number) if number <= blocks.number() else None


SIMULATOR: Final = InstalledSimulator()


def _read(settings: Settings, clock: Clock) -> SimulatedSubnet:
    file = _file_of(settings)
    if not file.exists():
        raise ChainFileError("chain.state must name the simulated chain's file; `validator run` makes it")
    return _checked(settings, SimulatedSubnet(load_state(file), clock))


def _file_of(settings: Settings) -> Path:
    if settings.chain.state is None:
        raise ChainFileError("chain.state must name the simulated chain's file")
    return settings.chain.state


def _checked(settings: Settings, subnet: SimulatedSubnet) -> SimulatedSubnet:
    if subnet.rules.netuid != settings.validator.netuid:
        raise NoSubnetError(
            f"validator.netuid is {settings.validator.netuid}, but the simulated chain's file is of "
            f"{subnet.rules.netuid}; correct one of the two"
        )
    return subnet
