"""When a subnet steps, by the formulas of the runtimes themselves (D-22). Pure.

In the block in which a subnet steps, the weights of the blocks before it take effect: the epoch's last block is the one
before. Runtimes differ in what decides it:

- Without an epoch index of their own the block's number does: `tempo - (block + netuid + 1) % (tempo + 1)` blocks are
  left. It is 0 one block before `(block + netuid + 1) % (tempo + 1)` is.
- With one, a schedule in the state does, which the owner or root can move: the runtime names its next block itself.

With tempo 0 neither ever steps.
"""

from typing import Final

# A runtime with a schedule steps after so many blocks without a step, whatever it has planned.
MAX_TEMPO: Final = 50_400


def numbered_epoch(block: int, netuid: int, tempo: int, registered: int) -> tuple[int, int | None]:
    """Return the epoch's index and the last block before the next step, where the block's number decides.

    The index is D-22's count of lengths since the subnet was registered, which does not know where the chain steps: as
    a rule it changes within what lies between two steps. It falls if the tempo is raised.

    Args:
        block: the block whose state is meant, its step included.
        netuid: the subnet, from 0 to 65,535.
        tempo: as of that block, from 0 to 65,535; with 0 there is epoch 0 without an end.
        registered: the block at which the subnet was registered.
    """
    if tempo == 0:
        return 0, None
    length = tempo + 1
    next_step = ((block + netuid + 2) // length + 1) * length - netuid - 2
    return max(0, block - registered) // length, next_step - 1


def planned_end(block: int, planned: int | None, since_step: int) -> int | None:
    """Return the epoch's last block, where a schedule decides; None without a plan.

    Args:
        block: the block whose state is meant, its step included.
        planned: the block of the next step as the runtime names it; not past `block` if it is overdue.
        since_step: blocks since the last step that was carried out.
    """
    if planned is None:
        return None
    return max(block, min(planned - 1, block + MAX_TEMPO - since_step))
