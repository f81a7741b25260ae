"""The chain as the weights loop sees it: subnet, this hotkey's slot, when weights may be sent, what is in the way.

Reads only, each read with a time limit.
"""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from validator.cancellation import together, within
from validator.chain.base import Chain, Head, SubnetParameters
from validator.chain.runtime_rules import RULES, Asked
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot, Neuron
from validator.sources import Clock

READ_S: Final = 120.0  # a read that takes longer has stalled: the chain limits each of its calls

T = TypeVar("T")


class Slot(NamedTuple):
    """This hotkey's slot, as one mechanism sees it.

    Attributes:
        last_update: block of its last weights or commitment for the mechanism, or of its registration.
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

    It is None without a registration, or where the subnet has no such mechanism.
    """

    snapshot: MetagraphSnapshot
    parameters: SubnetParameters
    slot: Slot | None


@dataclass(frozen=True, slots=True)
class Eyes:
    """Reads of the chain for one mechanism, each with a time limit."""

    chain: Chain
    clock: Clock
    hotkey: str
    mechid: int

    async def look(self) -> Sight:
        """Read everything: the slot after the rest, whose answer it needs (ChainError, TimeoutError)."""
        chain, mechid = self.chain, self.mechid
        first: list[Any] = await together((self.read(chain.snapshot()), self.read(chain.parameters())))
        snapshot, parameters = first
        me = snapshot.by_hotkey(self.hotkey)
        if me is None or mechid >= parameters.mechanisms:
            return Sight(snapshot, parameters, None)
        reads = (
            chain.last_update(mechid, me.uid),
            chain.registered_at(me.uid),
            chain.commits(mechid),
            chain.weights(mechid, me.uid),
        )
        of_slot: list[Any] = await together(map(self.read, reads))
        updated, registered, commits, weights = of_slot
        untold = mechid > 0 and updated <= registered
        slot = Slot(me, updated, registered, commits, weights, untold=untold)
        return Sight(snapshot, parameters, slot)

    async def read(self, call: Coroutine[Any, Any, T]) -> T:
        """Return what the call returns, if it does so in time (TimeoutError: it did not)."""
        return await within(self.clock, READ_S, call)


class Hindrance(NamedTuple):
    """A reason why nothing is sent at a block, the numbers behind it, the first block at which it can be otherwise."""

    reason: Reason
    detail: str
    retry: int


def due_block(head: Head, blocks_before_end: int) -> int:
    """Return the first block at which the epoch's weights are sent; now, where the chain tells no end.

    At least one block stays before the end: weights sent at the end's block would land in the next epoch.
    """
    return head.number if head.epoch_end is None else head.epoch_end - max(1, blocks_before_end)


def validity(head: Head, block: int, most: int) -> int:
    """Return for how many blocks a submission is made valid: at most `most`, not past the epoch's end, at least 1."""
    return most if head.epoch_end is None else max(1, min(most, head.epoch_end - block))


def hindrance(sight: Sight, mechid: int, row: Mapping[int, int] | None = None) -> Hindrance | None:
    """Return what the chain would refuse weights for, this row if it is given; None if nothing."""
    snapshot, parameters, slot = sight
    soon = snapshot.block + 1
    if mechid >= parameters.mechanisms:
        return Hindrance(Reason.WEIGHTS_REJECTED, f"the subnet has no mechanism {mechid}", soon)
    if slot is None:
        return Hindrance(Reason.WEIGHTS_NOT_REGISTERED, "", soon)
    asked = Asked(snapshot, parameters, slot.neuron, mechid, slot.last_update, slot.commits, row)
    for rule in RULES:
        if (verdict := rule.judge(asked)).refused:
            return Hindrance(rule.reason, verdict.detail, verdict.retry or soon)
    return None
