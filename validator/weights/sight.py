"""What the chain shows of this hotkey, read in one go: the subnet, its own slot, and what it has set or committed."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from validator.chain.base import Chain, SubnetParameters
from validator.chain.within import within
from validator.protocol.round import MetagraphSnapshot, Neuron
from validator.sources import Clock

READ_S: Final = 120.0  # a read that takes longer has stalled: the chain limits each of its calls

T = TypeVar("T")


class Slot(NamedTuple):
    """This hotkey's slot, as one mechanism sees it.

    Attributes:
        neuron: as the snapshot has it.
        last_update: block of its last weights or commitment for the mechanism, or of its registration.
        registered_at: block of its registration.
        commits: blocks of commitments that are not revealed.
        weights: target uid to u16, in force.
        untold: whether the chain may keep no block of its updates: it does not for a mechanism younger than the neuron.
    """

    neuron: Neuron
    last_update: int
    registered_at: int
    commits: Sequence[int]
    weights: Mapping[int, int]
    untold: bool = False


class Sight(NamedTuple):
    """The subnet, and this hotkey on it; the slot was read later than the snapshot, never earlier.

    Attributes:
        snapshot: of one block.
        parameters: what the subnet asks for.
        slot: None without a registration, or where the subnet has no such mechanism.
    """

    snapshot: MetagraphSnapshot
    parameters: SubnetParameters
    slot: Slot | None


@dataclass(frozen=True, slots=True)
class Eyes:
    """Reads of the chain for one mechanism, each with a time limit.

    Args:
        chain, clock: the world.
        hotkey: the validator's own.
        mechid: the mechanism.
    """

    chain: Chain
    clock: Clock
    hotkey: str
    mechid: int

    async def look(self) -> Sight:
        """Read everything: the slot after the rest, whose answer it needs.

        Raises:
            ChainError, TimeoutError: the chain could not be read.
        """
        chain, mechid = self.chain, self.mechid
        snapshot, parameters = await asyncio.gather(self.read(chain.snapshot()), self.read(chain.parameters()))
        me = snapshot.by_hotkey(self.hotkey)
        if me is None or mechid >= parameters.mechanisms:
            return Sight(snapshot, parameters, None)
        updated, registered, commits, weights = await asyncio.gather(
            self.read(chain.last_update(mechid, me.uid)),
            self.read(chain.registered_at(me.uid)),
            self.read(chain.commits(mechid)),
            self.read(chain.weights(mechid, me.uid)),
        )
        untold = mechid > 0 and updated <= registered
        slot = Slot(me, updated, registered, commits, weights, untold=untold)
        return Sight(snapshot, parameters, slot)

    async def read(self, call: Coroutine[Any, Any, T]) -> T:
        """Return what the call returns, if it does so in time (TimeoutError: it did not)."""
        return await within(self.clock, READ_S, call)
