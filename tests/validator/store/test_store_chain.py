"""A store belongs to one subnet of one chain, and its log to one hotkey."""

import pytest
from store_examples import at, open_round

from sssa.protocol.signatures import Signer
from sssa.sources import SeededRandom
from validator.store import Store
from validator.store.errors import OtherStoreError
from validator.store.identity import adopt_chain, require_chain, require_hotkey
from validator.store.log import append, commitments, open_log
from validator.store.rows import StoreChain

GENESIS, OTHER = "aa" * 32, "bb" * 32


async def test_a_new_store_belongs_to_the_chain_that_it_is_first_opened_with(store: Store) -> None:
    async with store.begin() as tx:
        assert await tx.chain.get() is None
        await require_chain(tx, GENESIS, 7)
        assert await tx.chain.get() is None
        assert await adopt_chain(tx, GENESIS, 7, at(1))
        assert not await adopt_chain(tx, GENESIS, 7, at(2))
        await require_chain(tx, GENESIS, 7)
        assert await tx.chain.get() == StoreChain(GENESIS, 7, at(1))


@pytest.mark.parametrize(
    ("genesis", "netuid", "message"),
    [
        (OTHER, 7, f"of the chain with genesis {GENESIS}, what answers has genesis {OTHER}; correct"),
        (GENESIS, 8, "of netuid 7, the settings name netuid 8; correct"),
    ],
)
async def test_another_chain_or_subnet_is_refused(store: Store, genesis: str, netuid: int, message: str) -> None:
    async with store.begin() as tx:
        await adopt_chain(tx, GENESIS, 7, at(1))
    async with store.read() as tx:
        with pytest.raises(OtherStoreError, match=message):
            await require_chain(tx, genesis, netuid)
    with pytest.raises(OtherStoreError, match=message):
        async with store.begin() as tx:
            await adopt_chain(tx, genesis, netuid, at(2))


async def test_an_old_store_adopts_no_other_subnet_than_that_of_its_rounds(store: Store) -> None:
    await open_round(store, 0)
    async with store.begin() as tx:
        with pytest.raises(OtherStoreError, match="of netuid 7, the settings name netuid 8"):
            await adopt_chain(tx, GENESIS, 8, at(1))
        assert await adopt_chain(tx, GENESIS, 7, at(1))


async def test_a_log_takes_receipts_of_one_hotkey(store: Store) -> None:
    mine, another = Signer.from_uri("//Mine"), Signer.from_uri("//Another")
    async with store.begin() as tx:
        await require_hotkey(tx, another.hotkey)  # nobody's yet
        await open_log(tx, mine, at(1), SeededRandom("log"), 0)
        await require_hotkey(tx, mine.hotkey)
        message = f"log is signed by {mine.hotkey}, the wallet's hotkey is {another.hotkey}; correct .* name another"
        with pytest.raises(OtherStoreError, match=message):
            await require_hotkey(tx, another.hotkey)
        with pytest.raises(OtherStoreError, match=message):
            await append(tx, another, at(2), "closing", await commitments(tx))
        assert await tx.receipts.count() == 1
