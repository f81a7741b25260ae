"""When weights may be sent, and what stands in the way. Pure."""

from typing import NamedTuple

from validator.chain.base import Head, SubnetParameters
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot


class Hindrance(NamedTuple):
    """Why nothing is sent at a block.

    Attributes:
        reason: a `weights_…` code.
        detail: the numbers behind it.
        retry: the first block at which it can be otherwise.
    """

    reason: Reason
    detail: str
    retry: int


def due_block(head: Head, blocks_before_end: int) -> int:
    """Return the first block at which the epoch's weights are sent; now, where the chain tells no end.

    At least one block stays before the end: weights sent at the end's block would land in the next epoch.
    """
    return head.number if head.epoch_end is None else head.epoch_end - max(1, blocks_before_end)


def hindrance(snapshot: MetagraphSnapshot, parameters: SubnetParameters, hotkey: str, mechid: int) -> Hindrance | None:
    """Return what the chain would refuse weights for, None if nothing."""
    me = snapshot.by_hotkey(hotkey)
    soon = snapshot.block + 1
    if me is None:
        return Hindrance(Reason.WEIGHTS_NOT_REGISTERED, "", soon)
    if not me.validator_permit:
        return Hindrance(Reason.WEIGHTS_NO_PERMIT, "", soon)
    if me.stake_tao < parameters.min_stake_tao:
        stake = f"{me.stake_tao:g} TAO of the {parameters.min_stake_tao:g} that the subnet asks for"
        return Hindrance(Reason.WEIGHTS_LOW_STAKE, stake, soon)
    if mechid >= parameters.mechanisms:
        return Hindrance(Reason.WEIGHTS_REJECTED, f"the subnet has no mechanism {mechid}", soon)
    free = me.last_update + parameters.weights_rate_limit
    if free > snapshot.block:
        return Hindrance(Reason.WEIGHTS_RATE_LIMITED, f"until block {free}", free)
    return None
