"""The chain as the weights loop reads it: subnet, this hotkey's slot, when weights are due, and what blocks them.

Reads only, each read with a time limit.
"""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from sssa.protocol.reasons import Reason
from sssa.protocol.round import MetagraphSnapshot, Neuron
from sssa.sources import Clock
from validator.cancellation import together, within
from validator.chain.interface import Chain, Head, SubnetParameters
from validator.chain.runtime_rules import RULES, SubmissionFacts

READ_S: Final = 120.0  # a read that takes longer has stalled: the chain limits each of its calls

T = TypeVar("T")


class Slot(NamedTuple):
    """This hotkey's slot, as one mechanism sees it.

    Attributes:
        last_update: block of its last weights or commitment for the mechanism, or of its registration.
        commits: blocks of commitments that are not revealed.
        weights: target uid to u16, in force.
        lacks_update_block: whether `last_update` may be missing: the chain keeps none for a mechanism younger than the
            neuron.
    """

    neuron: Neuron
    last_update: int
    registered_at: int
    commits: Sequence[int]
    weights: Mapping[int, int]
    lacks_update_block: bool = False


class ChainView(NamedTuple):
    """The subnet and this hotkey's slot, which is read after the snapshot.

    The slot is None if the hotkey is not registered or the subnet has no such mechanism.
    """

    snapshot: MetagraphSnapshot
    parameters: SubnetParameters
    slot: Slot | None


@dataclass(frozen=True, slots=True)
class ChainReader:
    """Reads of the chain for one mechanism, each with a time limit."""

    chain: Chain
    clock: Clock
    hotkey: str
    mechid: int

    async def look(self) -> ChainView:
        """Return the view (ChainError, TimeoutError). The slot is read last, since it needs the snapshot."""
        chain, mechid = self.chain, self.mechid
        first: list[Any] = await together((self.read(chain.snapshot()), self.read(chain.parameters())))
        snapshot, parameters = first
        me = snapshot.by_hotkey(self.hotkey)
        if me is None or mechid >= parameters.mechanisms:
            return ChainView(snapshot, parameters, None)
        reads = (
            chain.last_update(mechid, me.uid),
            chain.registered_at(me.uid),
            chain.commits(mechid),
            chain.weights(mechid, me.uid),
        )
        of_slot: list[Any] = await together(map(self.read, reads))
        updated, registered, commits, weights = of_slot
        lacks_update_block = mechid > 0 and updated <= registered
        slot = Slot(me, updated, registered, commits, weights, lacks_update_block=lacks_update_block)
        return ChainView(snapshot, parameters, slot)

    async def read(self, call: Coroutine[Any, Any, T]) -> T:
        """Return the result of the call (TimeoutError: it took longer than `READ_S`)."""
        return await within(self.clock, READ_S, call)


class Blocker(NamedTuple):
    """A reason why nothing is sent, with its numbers and the first block at which it can change."""

    reason: Reason
    detail: str
    retry: int


def due_block(head: Head, blocks_before_end: int) -> int:
    """Return the first block at which the epoch's weights are sent; the head if the chain gives no end of the epoch.

    At least one block stays before the end: weights sent at the end's block would land in the next epoch.
    """
    return head.number if head.epoch_end is None else head.epoch_end - max(1, blocks_before_end)


def validity(head: Head, block: int, most: int) -> int:
    """Return the lifetime of a submission in blocks: at most `most`, not past the epoch's end, at least 1."""
    return most if head.epoch_end is None else max(1, min(most, head.epoch_end - block))


def chain_blocker(view: ChainView, mechid: int, row: Mapping[int, int] | None = None) -> Blocker | None:
    """Return why the chain would refuse weights, or this row; None if it would take them."""
    snapshot, parameters, slot = view
    soon = snapshot.block + 1
    if mechid >= parameters.mechanisms:
        return Blocker(Reason.WEIGHTS_REJECTED, f"the subnet has no mechanism {mechid}", soon)
    if slot is None:
        return Blocker(Reason.WEIGHTS_NOT_REGISTERED, "", soon)
    facts = SubmissionFacts(snapshot, parameters, slot.neuron, mechid, slot.last_update, slot.commits, row)
    for rule in RULES:
        if (verdict := rule.judge(facts)).refused:
            return Blocker(rule.reason, verdict.detail, verdict.retry or soon)
    return None
