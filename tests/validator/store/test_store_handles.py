"""Handles on a database that are dropped as a kill of the process drops them."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from validator.store import Store, open_store
from validator.store.connections import Handles, connect
from validator.store.errors import StoreError, StoreLockedError


async def next_writer(url: str) -> Store:
    """A store whose claim to write is granted once the database has noticed the end of the one before."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await open_store(url, writer=True)
            except StoreLockedError:
                await asyncio.sleep(0.02)


async def query(store: Store) -> int:
    async with store.read() as tx:
        return await tx.drains.newest()


async def test_what_a_kill_drops_is_rolled_back_and_leaves_no_lock(store_url: str) -> None:
    handles = Handles()
    store = await open_store(store_url, writer=True, handles=handles)
    async with store.begin() as tx:
        await tx.connection.execute(text("CREATE TABLE kept (n INTEGER)"))
        await tx.connection.execute(text("INSERT INTO kept VALUES (1)"))
    with pytest.raises(Exception, match=r"."):  # noqa: PT012 - the kill, and what the transaction makes of it
        async with store.begin() as tx:
            await tx.connection.execute(text("INSERT INTO kept VALUES (2)"))
            handles.drop()
            await tx.connection.execute(text("INSERT INTO kept VALUES (3)"))
    async with await next_writer(store_url) as after:
        with pytest.raises(StoreError):
            await query(store)
        await store.close()
        with pytest.raises(StoreLockedError):
            await open_store(store_url, writer=True)
        async with after.begin() as tx:
            assert (await tx.connection.execute(text("SELECT n FROM kept"))).scalars().all() == [1]
            await tx.connection.execute(text("DROP TABLE kept"))


async def test_dropped_handles_take_nothing_new(store_url: str) -> None:
    handles = Handles()
    handles.drop()
    for writer in (True, False):
        with pytest.raises(StoreError):
            await open_store(store_url, writer=writer, handles=handles)
    async with open_store(store_url, writer=True):
        pass


async def test_every_connection_to_sqlite_comes_from_the_creator_that_is_given(empty_sqlite_url: str) -> None:
    made: list[Any] = []

    async def counted(*arguments: Any, **options: Any) -> Any:
        assert options["timeout"] == 0
        made.append(await connect(*arguments, **options))
        return made[-1]

    handles = Handles(counted, busy_ms=0)
    async with open_store(empty_sqlite_url, writer=True, create=True, handles=handles) as store:
        before = len(made)
        async with store.read() as tx:
            assert await tx.connection.scalar(text("PRAGMA busy_timeout")) == 0
            async with store.begin() as other:
                assert await other.drains.newest() == 0
    assert before == 1  # to make its tables
    assert len(made) == before + 2  # one reads, one writes
    assert [one._connection for one in made] == [None] * len(made)  # all closed
