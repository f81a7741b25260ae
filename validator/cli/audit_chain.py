"""What stands on chain of a log's owner, asked for once: its anchor, and its rows of weights (SPEC 16, D-28)."""

from typing import NamedTuple

from validator.audit.log import Verified
from validator.chain.base import Chain
from validator.chain.opening import reading_chain
from validator.cli.anchored import Anchored, ask_anchor
from validator.cli.audit_rows import HeldRow, held_rows
from validator.settings import Settings
from validator.sources import SystemClock
from validator.unless import run_whole


class OnChain(NamedTuple):
    """What the chain has: the anchor, and every row beside the file."""

    anchored: Anchored
    rows: tuple[HeldRow, ...]


def ask_chain(settings: Settings, found: Verified) -> OnChain:
    """Ask the settings' chain of a file's owner; no wallet is needed.

    Raises:
        ChainError: the chain does not answer, or cannot be used.
    """
    return run_whole(_asked(reading_chain(settings, SystemClock()), found, settings.validator.netuid))


async def _asked(chain: Chain, found: Verified, netuid: int) -> OnChain:
    try:
        return OnChain(await ask_anchor(chain, found.hotkey, netuid), await held_rows(chain, found))
    finally:
        await chain.close()
