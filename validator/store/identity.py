"""Identity of a store: chain and subnet, the hotkey of its log, and scoring versions; others are refused."""

from datetime import datetime
from typing import Final

from sssa.scoring import UnknownScoringVersionError, version
from validator.store.errors import OtherStoreError
from validator.store.transaction import Transaction

_FIX: Final = "correct validator.netuid or chain.endpoints, or name another database in store.url"


async def require_chain(tx: Transaction, genesis: str | None, netuid: int) -> bool:
    """Refuse another chain or subnet than the store's (OtherStoreError); return whether the store knows its own.

    One that knows none is held to its newest round's subnet. Where `genesis` is None, only subnets are compared.
    """
    known = await tx.chain.get()
    newest = await tx.rounds.newest_frozen() if known is None else known
    of = None if newest is None else newest.netuid
    if of is not None and of != netuid:
        raise OtherStoreError(f"the store is of netuid {of}, the settings name netuid {netuid}; {_FIX}")
    if known is not None and genesis not in {None, known.genesis}:
        raise OtherStoreError(
            f"the store is of the chain with genesis {known.genesis}, what answers has genesis {genesis}; {_FIX}"
        )
    return known is not None


async def adopt_chain(tx: Transaction, genesis: str, netuid: int, at: datetime) -> bool:
    """Bind a store without a chain to this one; return whether it had none (OtherStoreError: it has another)."""
    await require_chain(tx, genesis, netuid)
    return await tx.chain.adopt(genesis, netuid, at)


async def require_hotkey(tx: Transaction, hotkey: str) -> None:
    """Refuse another validator's hotkey than the log's (OtherStoreError): a log of two hotkeys never verifies again."""
    last = await tx.receipts.last_receipt()
    if last is not None:
        require_same(last.validator_hotkey, hotkey)


def require_same(signed_by: str, hotkey: str) -> None:
    """Refuse a hotkey that is not the one which signed the log (OtherStoreError)."""
    if signed_by != hotkey:
        fix = "correct [wallet], or name another database in store.url"
        raise OtherStoreError(f"the store's log is signed by {signed_by}, the wallet's hotkey is {hotkey}; {fix}")


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
