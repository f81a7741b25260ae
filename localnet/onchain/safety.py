"""Refusal of any chain but a development chain, before anything is spent or written. Only reads the chain."""

from typing import Final, NamedTuple

from localnet.onchain.alice import Alice
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.chain.connection import Substrates
from validator.chain.interface import ChainError, ChainUnreachableError

# Block 0 of the chains that carry money or other people's work.
_PUBLIC: Final = {
    "2f0555cc76fc2840a25a6ea3b9637146806f1f44b090c175ffde2a7e5ab36c03": "finney",
    "8f9cf856bf558a14440e75569c9e58594757048d7b3a84b5d25f6bd978263105": "the public test network",
}


class NotDevelopmentChainError(ValidatorError):
    """This is no development chain, and nothing was sent to it."""


class Look(NamedTuple):
    """A development chain: its websocket url, its genesis (hex), the seconds between its blocks."""

    url: str
    genesis: str
    block_s: float


async def look_at(url: str, clock: Clock, substrate: Substrates | None = None) -> Look:
    """Return what a development chain is like; nothing is signed.

    Raises:
        NotDevelopmentChainError: it is another one.
        NoNodeUrlError: that is no node's url.
        ChainUnreachableError: as for `require_development_chain`.
    """
    alice = Alice(url, clock, substrate=substrate)
    try:
        return Look(alice.url, await require_development_chain(alice), await alice.block_time())
    finally:
        await alice.close()


async def require_development_chain(alice: Alice) -> str:
    """Return the chain's genesis, hex, if //Alice is root on it and it is none of the public ones.

    Raises:
        NotDevelopmentChainError: it is another chain; nothing was signed.
        ChainUnreachableError: nothing answers, or what does is no subtensor.
    """
    try:
        genesis = await alice.query("System", "BlockHash", 0)
    except ChainUnreachableError:
        raise
    except ChainError as error:
        raise ChainUnreachableError(
            f"what answers at {alice.place} is no node of this chain ({error.detail}); name one's websocket with --url"
        ) from None
    genesis = str(genesis).removeprefix("0x").lower()
    if genesis in _PUBLIC:
        raise NotDevelopmentChainError(f"{alice.place} is {_PUBLIC[genesis]}; name your own node with --url")
    try:
        key = await alice.query("Sudo", "Key")
    except ChainUnreachableError:
        raise
    except ChainError:
        key = None
    if key != alice.address:
        whose = "nobody" if key is None else printable(str(key), 64)
        raise NotDevelopmentChainError(f"root at {alice.place} is {whose}, not //Alice; name your own node with --url")
    return genesis
