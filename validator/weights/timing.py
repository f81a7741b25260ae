"""When weights may be sent, and what stands in the way. Pure."""

from typing import Final, NamedTuple

from validator.chain.base import VERSION_KEY, Head
from validator.protocol.reasons import Reason
from validator.weights.sight import Sight

_MAX_COMMITS: Final = 10  # the chain takes no more while none is revealed


class Hindrance(NamedTuple):
    """Why nothing is sent at a block.

    Attributes:
        reason: a `weights_…` code, or `local_clock`.
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


def validity(head: Head, block: int, most: int) -> int:
    """Return for how many blocks a submission is made valid: at most `most`, not past the epoch's end, at least 1."""
    return most if head.epoch_end is None else max(1, min(most, head.epoch_end - block))


def hindrance(sight: Sight, mechid: int) -> Hindrance | None:
    """Return what the chain would refuse weights for, None if nothing."""
    snapshot, parameters, slot = sight
    soon = snapshot.block + 1
    if mechid >= parameters.mechanisms:
        return Hindrance(Reason.WEIGHTS_REJECTED, f"the subnet has no mechanism {mechid}", soon)
    if slot is None:
        return Hindrance(Reason.WEIGHTS_NOT_REGISTERED, "", soon)
    me = slot.neuron
    stake = f"{me.stake_tao:g} TAO of the {parameters.min_stake_tao:g} that the subnet asks for"
    keys = f"the subnet asks for {parameters.version_key}, this program has {VERSION_KEY}"
    free = slot.last_update + parameters.weights_rate_limit
    checks = (
        (not me.validator_permit, Hindrance(Reason.WEIGHTS_NO_PERMIT, "", soon)),
        (me.stake_tao < parameters.min_stake_tao, Hindrance(Reason.WEIGHTS_LOW_STAKE, stake, soon)),
        (parameters.version_key > VERSION_KEY, Hindrance(Reason.WEIGHTS_VERSION_KEY, keys, soon)),
        (
            len(slot.commits) >= _MAX_COMMITS,
            Hindrance(Reason.WEIGHTS_UNREVEALED, f"{len(slot.commits)} commitments", soon),
        ),
        (free > snapshot.block, Hindrance(Reason.WEIGHTS_RATE_LIMITED, f"until block {free}", free)),
    )
    return next((found for stands, found in checks if stands), None)
