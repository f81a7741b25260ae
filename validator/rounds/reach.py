"""Whether the validator itself is cut off (SPEC 16, D-26)."""

from validator.chain.base import Chain, ChainError
from validator.tasks.source import TaskSource


async def network_away(chain: Chain | None, source: TaskSource) -> bool:
    """Return whether the chain's endpoint or the task source cannot be reached now.

    Args:
        chain: None where its endpoint is on this machine: that it answers or not tells nothing of the network.
        source: of tasks.
    """
    if not await source.reachable():
        return True
    if chain is None:
        return False
    try:
        await chain.head()
    except ChainError:
        return True
    return False
