"""The reference miners of a local network on a chain node: they listen, and their axons are on chain."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from miner.analysis_pool import AnalysisPool
from miner.assessment import Kit
from miner.behaviours import answer_thoroughly, paced
from miner.server import LocalMiner
from miner.standalone import AnnouncementError, ListeningError, address_to_announce, appear
from miner.tracing import Tracer
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.chain.opening import real_chain
from validator.settings.model import Settings


async def serve_miners(  # noqa: PLR0913, PLR0917 - who serves whom, where, and what they may run
    settings: Settings,
    miners: Sequence[Signer],
    validator: str,
    host: str,
    own: frozenset[str],
    clock: Clock,
    stack: AsyncExitStack,
) -> None:
    """Start a thorough miner for each hotkey and announce it; they end with `stack`.

    Args:
        settings: of the validator, for the chain.
        miners: registered hotkeys.
        validator: the one hotkey that they answer.
        host: an address of this machine that the chain takes.
        own: sha256 (hex) of the bundles that they may run.
        clock: time.
        stack: what ends them.

    Raises:
        ListeningError: `host` is none of this machine's.
        AnnouncementError, ChainError: the chain refused one.
    """
    analyses, tracer = AnalysisPool(), Tracer(own.__contains__)
    stack.push_async_callback(analyses.close)
    for signer in miners:
        behaviour = paced(answer_thoroughly)
        miner = LocalMiner(Kit(signer, analyses, tracer), behaviour, frozenset({validator}), clock)
        stack.push_async_callback(miner.close)
        try:
            axon = await miner.start(host)
        except OSError as error:
            reason = error.strerror or error
            raise ListeningError(f"{printable(host)}: {reason}; name an address of this machine with --host") from None
        chain = real_chain(settings, signer, clock)
        try:
            await appear(chain, signer.hotkey, Axon(axon.ip, axon.port))
        finally:
            await chain.close()


def require_announceable(host: str) -> None:
    """Refuse an address that the chain takes from nobody, before anything is spent.

    Raises:
        AnnouncementError: it is none, or the one loopback address that the runtime refuses.
    """
    if host == "127.0.0.1":
        raise AnnouncementError("--host 127.0.0.1: the chain takes it from nobody; 127.0.0.2 is on this machine, too")
    if not host.startswith("127."):
        address_to_announce(host, None)
