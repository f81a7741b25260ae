"""The simulated chain: the Chain protocol over a subnet in this process. For tests, the local network and dry runs."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from validator.chain.base import ChainError, ChainUnreachableError, Head, SubnetParameters, WeightsResult
from validator.chain.subnet import SimulatedSubnet
from validator.protocol.round import MetagraphSnapshot


@dataclass(slots=True)
class Faults:
    """What goes wrong with the connection.

    Attributes:
        unreachable_until: below this block nothing can be reached.
        lost_answers: so many accepted submissions whose answer never arrives.
    """

    unreachable_until: int = 0
    lost_answers: int = 0


class SimulatedChain:
    """One hotkey's connection to a simulated subnet.

    Args:
        subnet: the world, shared with others.
        hotkey: whose weights it sets.
    """

    def __init__(self, subnet: SimulatedSubnet, hotkey: str) -> None:
        self.subnet = subnet
        self.faults = Faults()
        self._hotkey = hotkey
        self._closed = False

    async def head(self) -> Head:
        """Return the newest block."""
        self._reach()
        return self.subnet.blocks.head()

    async def wait_for_block(self, number: int) -> Head:
        """Return the newest block once its number is at least `number`."""
        self._reach()
        await self.subnet.blocks.wait_for(number)
        return await self.head()

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as of the newest block."""
        self._reach()
        return self.subnet.snapshot()

    async def parameters(self) -> SubnetParameters:
        """Return the subnet's parameters."""
        self._reach()
        return self.subnet.parameters()

    async def set_weights(self, mechid: int, weights: Mapping[int, float]) -> WeightsResult:
        """Submit weights; they are in the newest block at once."""
        self._reach()
        result = self.subnet.set_weights(self._hotkey, mechid, weights)
        if result.accepted and self.faults.lost_answers > 0:
            self.faults.lost_answers -= 1
            await asyncio.Event().wait()
        return result

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        """Return the weights that the neuron at `uid` has set."""
        self._reach()
        return self.subnet.weights(mechid, uid)

    async def close(self) -> None:
        """Drop the connection; the subnet lives on."""
        self._closed = True

    def _reach(self) -> None:
        if self._closed:
            raise ChainError("the connection was closed")
        if self.subnet.blocks.number() < self.faults.unreachable_until:
            raise ChainUnreachableError(f"simulated outage until block {self.faults.unreachable_until}")
