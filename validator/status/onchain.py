"""What the chain says of the hotkey, the epoch and the weights in force."""

import asyncio
from dataclasses import dataclass

from validator.chain.base import Chain, Head
from validator.protocol.round import Neuron
from validator.settings import Settings
from validator.sources import Clock
from validator.weights.plan import mechanisms
from validator.weights.sight import Eyes, Sight
from validator.weights.timing import due_block


@dataclass(frozen=True, slots=True)
class OnChainWeights:
    """The row of this hotkey for one mechanism.

    Attributes:
        last_update: block of its last weights or commitment; None without a slot.
        row: target uid to u16, in force; empty if none.
        commits: blocks of commitments that are not revealed.
    """

    mechid: int
    last_update: int | None
    row: dict[int, int]
    commits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OnChain:
    """The subnet at one moment.

    Attributes:
        head: the newest block.
        due_block: from which on the epoch's weights are sent.
        neurons: how many there are.
        me: this hotkey's slot; None without one.
        min_stake_tao: least stake with which weights may be set.
        weights: by mechanism.
        latency_s: how long the newest answer took; None where it took no time that could be measured.
    """

    netuid: int
    head: Head
    due_block: int
    neurons: int
    me: Neuron | None
    min_stake_tao: float
    weights: tuple[OnChainWeights, ...]
    latency_s: float | None = None

    @property
    def epoch_passed(self) -> float | None:
        """Which part of what lies between two steps has passed, 0 to 1; None where the chain does not tell them."""
        start, end = self.head.epoch_start, self.head.epoch_end
        if start is None or end is None:
            return None
        return min(1.0, max(0.0, (self.head.number - start + 1) / max(1, end - start + 1)))


async def on_chain(chain: Chain, clock: Clock, settings: Settings, hotkey: str) -> OnChain:
    """Return what the chain shows now.

    Raises:
        ChainError, TimeoutError: it could not be read.
    """
    wanted = mechanisms(settings.weights)
    looks = asyncio.gather(*(Eyes(chain, clock, hotkey, mechid).look() for mechid in wanted))
    head, found = await asyncio.gather(chain.head(), looks)
    sights = list(zip(wanted, found, strict=True))
    snapshot, parameters, _ = sights[-1][1]
    return OnChain(
        netuid=snapshot.netuid,
        head=head,
        due_block=due_block(head, settings.weights.blocks_before_epoch_end),
        neurons=len(snapshot.neurons),
        me=snapshot.by_hotkey(hotkey),
        min_stake_tao=parameters.min_stake_tao,
        weights=tuple(_weights(mechid, sight) for mechid, sight in sights),
        latency_s=chain.latency_s,
    )


def _weights(mechid: int, sight: Sight) -> OnChainWeights:
    slot = sight.slot
    if slot is None:
        return OnChainWeights(mechid, None, {}, ())
    return OnChainWeights(mechid, slot.last_update, dict(slot.weights), tuple(slot.commits))
