"""Identity of a store: a start writes chain and subnet once; others, and unknown scoring versions, are refused."""

from datetime import datetime
from typing import Final

from validator.scoring import UnknownScoringVersionError, version
from validator.store.errors import OtherChainError
from validator.store.transaction import Transaction

_FIX: Final = "correct validator.netuid or chain.endpoints, or name another database in store.url"


async def require_chain(tx: Transaction, genesis: str | None, netuid: int) -> bool:
    """Refuse another chain or subnet than the store's (OtherChainError); return whether the store knows its own.

    One that knows none is held to its newest round's subnet. Where `genesis` is None, only subnets are compared.
    """
    known = await tx.chain.get()
    told = await tx.rounds.newest_frozen() if known is None else known
    of = None if told is None else told.netuid
    if of is not None and of != netuid:
        raise OtherChainError(f"the store is of netuid {of}, the settings name netuid {netuid}; {_FIX}")
    if known is not None and genesis not in {None, known.genesis}:
        raise OtherChainError(
            f"the store is of the chain with genesis {known.genesis}, what answers has genesis {genesis}; {_FIX}"
        )
    return known is not None


async def adopt_chain(tx: Transaction, genesis: str, netuid: int, at: datetime) -> bool:
    """Let a store that knows no chain belong to this one; return whether it knew none (OtherChainError: to another)."""
    await require_chain(tx, genesis, netuid)
    return await tx.chain.adopt(genesis, netuid, at)


async def require_known_version(tx: Transaction) -> None:
    """Refuse a store whose newest frozen round is of a version that this program does not score.

    UnknownScoringVersionError: round, version, what to do.
    """
    newest = await tx.rounds.newest_frozen()
    if newest is None:
        return
    try:
        version(newest.scoring_version)
    except UnknownScoringVersionError as error:
        fix = "use the program that froze it, or a newer one"
        raise UnknownScoringVersionError(
            f"{error.detail}; round {newest.round_id} of the store has it: {fix}"
        ) from None
