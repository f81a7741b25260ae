"""From weights to the row that is sent (SPEC 11, D-11). Pure."""

from collections.abc import Mapping
from typing import Final

# Below this, what the sum of the weights misses of 1 is rounding and nobody's share.
_ROUNDING: Final = 1e-9


def left_over(unallocated: float) -> bool:
    """Whether what no miner takes is a share, and not rounding."""
    return unallocated > _ROUNDING


def shares_of(
    weights: Mapping[str, float], unallocated: float, uids: Mapping[str, int], owner: int | None
) -> dict[int, float]:
    """Return uid to weight; hotkeys without a uid are dropped.

    Args:
        weights: hotkey to weight.
        unallocated: goes to the owner (D-11).
        uids: hotkey to uid.
        owner: the owner's uid; None: what is left over is dropped.
    """
    sent = {uids[hotkey]: weight for hotkey, weight in weights.items() if hotkey in uids}
    if owner is not None and left_over(unallocated):
        sent[owner] = sent.get(owner, 0.0) + unallocated
    return sent
