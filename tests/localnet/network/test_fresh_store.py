"""The local network never continues an earlier run's store, and loses none."""

from pathlib import Path

import pytest
from world import World

from localnet.validators import UsedStoreError, set_aside
from validator.store import open_store
from validator.store.errors import StoreLockedError
from validator.tasks.source import MemorySource


async def use(url: str) -> None:
    """Leave a round in the store."""
    async with open_store(url, create=True) as store:
        world = World(store, source=MemorySource())
        await world.preparer.prepare(await world.chain.snapshot())


async def test_nothing_is_moved_where_nothing_is(empty_sqlite_url: str) -> None:
    assert await set_aside(empty_sqlite_url) is None
    async with open_store(empty_sqlite_url, create=True):
        pass
    assert await set_aside(empty_sqlite_url) is None


async def test_an_earlier_run_is_set_aside_whole(empty_sqlite_url: str, tmp_path: Path) -> None:
    for _ in range(2):
        await use(empty_sqlite_url)
        assert await set_aside(empty_sqlite_url) == tmp_path / "store.sqlite.previous"
        assert not (tmp_path / "store.sqlite").exists()
    async with open_store(f"sqlite:///{tmp_path}/store.sqlite.previous") as store, store.read() as tx:
        assert await tx.rounds.next_id() == 1


async def test_a_store_in_use_is_left_alone(empty_sqlite_url: str, tmp_path: Path) -> None:
    await use(empty_sqlite_url)
    async with open_store(empty_sqlite_url, writer=True):
        with pytest.raises(StoreLockedError):
            await set_aside(empty_sqlite_url)
    assert (tmp_path / "store.sqlite").exists()


async def test_a_used_postgres_is_refused(empty_postgres_url: str) -> None:
    await use(empty_postgres_url)
    with pytest.raises(UsedStoreError):
        await set_aside(empty_postgres_url)
