"""Bundles of one source, which differ in their markers: stored once, given back to the byte, kept as long as needed."""

import os
import random
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update
from store_examples import at, sha

from validator.protocol.archives import pack_tar
from validator.protocol.bundles import read_bundle, with_canary
from validator.protocol.canonical import sha256_hex
from validator.store import Store
from validator.store.beside import beside, whole
from validator.store.checking import checks
from validator.store.errors import DamagedError
from validator.store.records import Pruned
from validator.store.tables import bundles

MARKED = "docs/guide.md"
FILES = {f"docs/{n:02}.md": random.Random(n).randbytes(4_000) for n in range(16)} | {MARKED: b"A guide.\n" * 300}
SOURCE = sha("a source")


def marked(number: int) -> bytes:
    return with_canary(FILES, MARKED, sha(number))


async def put(store: Store, data: bytes, second: float, source: str | None = SOURCE) -> str:
    async with store.begin() as tx:
        await tx.bundles.put(sha256_hex(data), data, at(second), source)
    return sha256_hex(data)


async def stored(store: Store) -> dict[str, Any]:
    async with store.read() as tx:
        found = select(bundles.c.sha256, bundles.c.data, bundles.c.base_sha256)
        return {row.sha256: row for row in await tx.connection.execute(found)}


async def read(store: Store, name: str) -> bytes | None:
    async with store.read() as tx:
        return await tx.bundles.get(name)


async def prune(store: Store, second: float, limit: int = 500) -> int:
    async with store.begin() as tx:
        pruned = await tx.retention.prune(bundles_before=at(second), limit=limit)
        assert pruned == Pruned(0, pruned.bundles)
        return pruned.bundles


async def test_of_bundles_that_differ_in_their_marker_one_is_stored(store: Store) -> None:
    sent = [marked(number) for number in range(5)]
    names = [await put(store, data, second) for second, data in enumerate(sent)]
    assert await put(store, sent[2], 9) == names[2]  # once more
    kept = await stored(store)
    assert [kept[name].base_sha256 for name in names] == [None, *[names[0]] * 4]
    assert len(kept[names[0]].data) > 64_000
    assert all(len(kept[name].data) < 200 for name in names[1:])
    assert [await read(store, name) for name in names] == sent


async def test_what_another_zlib_packed_comes_back_to_the_byte(store: Store) -> None:
    """No bundle is packed again: its bytes are those that were sent, whatever reads them."""
    first = await put(store, marked(0), 0)
    tar = pack_tar(read_bundle(marked(1)))
    foreign = [zlib.compress(tar, level, wbits=31) for level in (1, 6)]
    names = [await put(store, data, second) for second, data in enumerate(foreign, start=1)]
    assert [await read(store, name) for name in names] == foreign
    assert (await stored(store))[names[0]].base_sha256 is None, "it shares too little with what this zlib makes"
    again = await put(store, marked(2), 9)
    assert await read(store, again) == marked(2)
    assert await read(store, first) == marked(0)


async def test_a_base_stays_as_long_as_others_need_it_and_no_longer(store: Store) -> None:
    names = [await put(store, marked(number), 10 * number) for number in range(3)]
    other = await put(store, b"of no source", 0, None)
    assert await prune(store, 5) == 1
    assert set(await stored(store)) == set(names)
    assert await prune(store, 15) == 1
    assert await read(store, names[1]) is None
    assert await read(store, names[2]) == marked(2)
    assert await prune(store, 99, limit=1) == 1
    assert set(await stored(store)) == {names[0]}
    assert await prune(store, 99, limit=1) == 1
    assert await stored(store) == {}
    assert await read(store, other) is None


async def test_all_of_a_source_go_at_once_where_all_are_old(store: Store) -> None:
    for number in range(3):
        await put(store, marked(number), number)
    assert await prune(store, 99) == 3


@pytest.mark.parametrize("harm", ["torn", "other base", "no base"])
async def test_what_was_damaged_is_named_and_not_given(store: Store, harm: str) -> None:
    base, name = [await put(store, marked(number), 0) for number in range(2)]
    statement = {
        "torn": update(bundles).where(bundles.c.sha256 == name).values(data=b"torn"),
        "other base": update(bundles).where(bundles.c.sha256 == base).values(data=os.urandom(70_000)),
        "no base": delete(bundles).where(bundles.c.sha256 == base),
    }[harm]
    async with store.begin() as tx:
        await tx.connection.execute(statement)
        faults = [fault async for check in checks(tx.connection) for fault in check.faults]
    assert f"bundles.data of {name} is not what sha256 names beside its base" in faults
    assert len(faults) == 1 + (harm == "other base")
    with pytest.raises(DamagedError, match=name if harm != "torn" else "a bundle is not what differs"):
        await read(store, name)


@settings(max_examples=60)
@given(st.binary(max_size=40), st.binary(max_size=9), st.binary(max_size=9), st.binary(max_size=40))
def test_any_two_give_each_other_back(before: bytes, one: bytes, other: bytes, after: bytes) -> None:
    data, base = 3 * before + one + after, 3 * before + other + after
    kept = beside(data, base)
    assert kept is None or (whole(kept, base) == data and 2 * len(kept) < len(data))
    assert beside(bytes(100), bytes(100)) is not None


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_no_bytes_take_more_than_their_base_has(stored_as: bytes, base: bytes) -> None:
    try:
        assert len(whole(stored_as, base)) <= len(stored_as) + len(base)
    except DamagedError as error:
        assert "not what differs" in str(error)
