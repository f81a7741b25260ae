import asyncio
import os
import sys

import pytest
from sqlalchemy import text

from sssa.protocol.canonical import sha256_hex
from validator.store import Store, open_store
from validator.store.errors import StoreBusyError, StoreLockedError, StoreLockLostError

HOLD_THE_LOCK = """
import asyncio, sys
from validator.store import open_store

async def main():
    async with open_store(sys.argv[1], writer=True):
        print("writer", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
END_THE_LOCKING_SESSION = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
"""


async def test_there_is_one_writer(store_url: str) -> None:
    async with open_store(store_url, writer=True):
        with pytest.raises(StoreLockedError, match="stop it first, or give this one its own store"):
            await open_store(store_url, writer=True)
    async with open_store(store_url, writer=True):
        pass


async def test_two_names_of_one_file_are_one_store(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    async with open_store(sqlite_url, writer=True):
        link = f"{path}-link"
        os.symlink(path, link)  # noqa: PTH211 - no path object needed
        with pytest.raises(StoreLockedError, match=r"process [0-9]+ writes to store\.sqlite"):
            await open_store(f"sqlite:///{link}", writer=True)


async def test_a_killed_writer_leaves_no_lock(store_url: str) -> None:
    async with open_store(store_url):
        pass
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD_THE_LOCK, store_url, stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"writer\n"
    with pytest.raises(StoreLockedError):
        await open_store(store_url, writer=True)
    other.kill()
    await other.wait()
    async with asyncio.timeout(60):  # Postgres notices the closed socket on its own time
        while True:
            try:
                store = await open_store(store_url, writer=True)
            except StoreLockedError:
                await asyncio.sleep(0.01)
            else:
                break
    await store.close()


async def test_readers_and_administrators_need_no_lock(store_url: str) -> None:
    async with open_store(store_url, writer=True) as writer, open_store(store_url) as other:
        async with other.begin() as tx:
            await tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32))
        async with writer.read() as tx:
            assert await tx.salts.pending() is not None


async def end_the_session(other: Store) -> None:
    async with other.begin() as tx:
        ended = await tx.connection.execute(text(END_THE_LOCKING_SESSION))
        assert ended.scalars().all() == [True]


async def test_a_writer_that_lost_its_session_takes_the_lock_again(postgres_url: str) -> None:
    async with open_store(postgres_url, writer=True) as writer, open_store(postgres_url) as other:
        for number in range(3):
            await end_the_session(other)
            async with writer.begin() as tx:
                await tx.salts.add(bytes([number]) * 32, sha256_hex(bytes([number]) * 32))
            with pytest.raises(StoreLockedError):
                await open_store(postgres_url, writer=True)
    async with open_store(postgres_url, writer=True):  # and gives it up at the end
        pass


async def test_a_writer_whose_lock_another_took_meanwhile_stops_writing(postgres_url: str) -> None:
    async with open_store(postgres_url, writer=True) as writer, open_store(postgres_url) as other:
        async with writer.begin():
            pass
        await end_the_session(other)
        async with open_store(postgres_url, writer=True) as successor:
            for _ in range(2):
                with pytest.raises(StoreLockLostError, match="another session writes to"):
                    async with writer.begin() as tx:
                        await tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32))
            with pytest.raises(StoreLockLostError):
                await writer.lasting(lambda tx: tx.salts.add(b"x" * 32, sha256_hex(b"x" * 32)))
            async with successor.read() as tx:
                assert await tx.salts.pending() is None


async def test_write_transactions_of_two_programs_do_not_overlap(store_url: str) -> None:
    trail: list[str] = []
    async with open_store(store_url) as one, open_store(store_url) as two:
        inside = asyncio.Event()

        async def first() -> None:
            async with one.begin() as tx:
                trail.append("first in")
                inside.set()
                await tx.salts.add(b"1" * 32, sha256_hex(b"1" * 32))
                for _ in range(20):  # give the second every chance to come in between
                    await tx.salts.pending()
                trail.append("first out")

        async def second() -> None:
            await inside.wait()
            async with two.begin() as tx:
                trail.append("second in")
                assert await tx.salts.pending() is not None

        await asyncio.gather(first(), second())
    assert trail == ["first in", "first out", "second in"]


async def test_waiting_for_another_program_ends(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validator.store.connections.BUSY_MS", 50)
    monkeypatch.setattr("validator.store.locks.BUSY_MS", 50)
    async with open_store(store_url) as one, open_store(store_url) as two, one.begin():
        with pytest.raises(StoreBusyError):
            async with two.begin():
                pass


async def test_transactions_of_one_store_queue_in_order(store: Store) -> None:
    order: list[int] = []

    async def write(number: int) -> None:
        salt = bytes([number]) * 32
        async with store.begin() as tx:
            order.append(number)
            await tx.salts.add(salt, sha256_hex(salt))

    await asyncio.gather(*(write(number) for number in range(60)))
    assert order == list(range(60))
    async with store.read() as tx:
        rows = await tx.connection.execute(text("SELECT salt FROM salts ORDER BY id"))
        assert [row.salt[0] for row in rows] == order
