"""Bundles: given back to the byte, kept as long as they are needed."""

import pytest
from sqlalchemy import update
from store_examples import at

from validator.protocol.canonical import sha256_hex
from validator.store import Store
from validator.store.checking import checks
from validator.store.errors import MismatchError
from validator.store.rows import Pruned
from validator.store.tables import bundles


async def put(store: Store, data: bytes, second: float) -> str:
    async with store.begin() as tx:
        await tx.bundles.put(sha256_hex(data), data, at(second))
    return sha256_hex(data)


async def read(store: Store, name: str) -> bytes | None:
    async with store.read() as tx:
        return await tx.bundles.get(name)


async def prune(store: Store, second: float, limit: int = 500) -> int:
    async with store.begin() as tx:
        pruned = await tx.retention.prune(bundles_before=at(second), limit=limit)
        assert pruned == Pruned(0, pruned.bundles)
        return pruned.bundles


async def test_a_bundle_comes_back_to_the_byte_and_goes_when_it_is_old(store: Store) -> None:
    names = [await put(store, data, 10 * number) for number, data in enumerate((b"a", b"b", b"c"))]
    assert [await read(store, name) for name in names] == [b"a", b"b", b"c"]
    await put(store, b"a", 30)  # once more: its retention begins anew
    assert await prune(store, 15) == 1
    assert [await read(store, name) for name in names] == [b"a", None, b"c"]
    assert await prune(store, 99, limit=1) == 1
    assert await prune(store, 99) == 1
    with pytest.raises(MismatchError):
        async with store.begin() as tx:
            await tx.bundles.put(names[0], b"other", at(0))


async def test_a_damaged_bundle_is_named(store: Store) -> None:
    name = await put(store, b"a", 0)
    async with store.begin() as tx:
        await tx.connection.execute(update(bundles).values(data=b"torn"))
        faults = [fault async for check in checks(tx) for fault in check.faults]
    assert faults == [f"bundles.data of {name} is not what sha256 names"]
