"""Writes that outlast trouble: done once, however often they had to begin."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from sssa.protocol.canonical import sha256_hex
from validator.store import Store, Transaction, open_store, outages
from validator.store.errors import StoreAwayError, StoreNoWriteError

SALT = b"s" * 32
KILL = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "PAUSE_S", 0.01)


async def salts(store: Store) -> int:
    async with store.read() as tx:
        return int(await tx.connection.scalar(text("SELECT count(*) FROM salts")) or 0)


async def add(tx: Transaction) -> str:
    await tx.salts.add(SALT, sha256_hex(SALT))
    return "added"


class Troubled:
    """Lets so many transactions fail, each after its work and before its commit, or after that."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch, times: int, *, after: bool) -> None:
        self.begin = store.begin
        self.times = times
        self.after = after
        self.begun = 0
        monkeypatch.setattr(store, "begin", self.failing)

    @asynccontextmanager
    async def failing(self) -> AsyncIterator[Transaction]:
        self.begun += 1
        fails = self.begun <= self.times
        async with self.begin() as tx:
            yield tx
            if fails and not self.after:
                raise StoreAwayError("before the commit")
        if fails:
            raise StoreAwayError("its answer was lost")


@pytest.mark.parametrize("times", [0, 1, 5])
async def test_a_write_that_fails_before_its_commit_is_done_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    told: list[StoreAwayError] = []
    store.on_outage = told.append
    troubled = Troubled(store, monkeypatch, times, after=False)
    assert await store.lasting(add) == "added"
    assert (troubled.begun, len(told), store.waiting) == (times + 1, times, 0)
    assert await salts(store) == 1


async def test_a_commit_whose_answer_was_lost_is_not_done_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(postgres_url) as store:
        troubled = Troubled(store, monkeypatch, 3, after=True)
        assert await store.lasting(add) == "added"
        assert troubled.begun == 4
        assert await salts(store) == 1


async def test_a_validator_that_starts_removes_what_processes_left_to_tell_their_writes_by(postgres_url: str) -> None:
    async def tokens(store: Store) -> list[str]:
        async with store.read() as tx:
            return [*await tx.connection.scalars(text("SELECT token FROM write_tokens ORDER BY token"))]

    async with open_store(postgres_url) as store:
        await store.lasting(add)
        (left,) = await tokens(store)
        async with store.begin() as tx:
            await tx.connection.execute(text("INSERT INTO write_tokens (token) VALUES ('20260101000000-a')"))
    async with open_store(postgres_url) as store:
        assert await tokens(store) == ["20260101000000-a", left], "a worker removes nothing"
    async with open_store(postgres_url, writer=True) as store:
        assert await tokens(store) == [left], "a worker may ask about a young one"


async def test_what_others_wrote_meanwhile_is_forgotten_too(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "PAUSE_S", 0.3)

    async def nothing(_: Transaction) -> None: ...

    async with open_store(postgres_url) as store:
        Troubled(store, monkeypatch, 1, after=True)
        lost = asyncio.create_task(store.lasting(add))
        while not store.waiting:  # noqa: ASYNC110 - a counter has no event
            await asyncio.sleep(0.001)
        await store.lasting(nothing)
        assert await lost == "added"
        await store.lasting(nothing)
        async with store.read() as tx:
            assert await tx.connection.scalar(text("SELECT count(*) FROM write_tokens")) == 1


async def test_sessions_that_the_server_ends_in_the_middle_cost_nothing(postgres_url: str) -> None:
    killed = 0
    async with open_store(postgres_url, writer=True) as store, open_store(postgres_url) as other:

        async def interrupted(tx: Transaction) -> str:
            nonlocal killed
            await add(tx)
            if killed < 3:
                killed += 1
                async with other.read() as operator:
                    await operator.connection.execute(text(KILL))
            return await tx.connection.scalar(text("SELECT 'alive'")) or ""

        assert await store.lasting(interrupted) == "alive"
        assert killed == 3
        assert await salts(store) == 1


async def test_patience_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    Troubled(store, monkeypatch, 10**6, after=False)
    with pytest.raises(StoreAwayError, match="before the commit"):
        await store.lasting(add, patience_s=0.05)
    assert store.waiting == 0


async def test_patience_ends_also_behind_somebody_who_has_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    Troubled(store, monkeypatch, 10**6, after=False)
    other = asyncio.create_task(store.lasting(add))
    while not store.waiting:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0)
    with pytest.raises(StoreAwayError, match="before the commit"):
        await asyncio.wait_for(store.lasting(add, patience_s=0.05), 5)
    assert store.waiting == 1
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    assert store.waiting == 0


async def test_a_fault_of_the_statement_is_not_tried_again(store: Store) -> None:
    done = 0

    async def twice(tx: Transaction) -> None:
        nonlocal done
        done += 1
        for _ in range(2):
            await tx.connection.execute(
                text("INSERT INTO salts (id, salt, commitment) VALUES (1, :salt, 'x')"), {"salt": SALT}
            )

    with pytest.raises(IntegrityError):
        await store.lasting(twice)
    assert done == 1


async def test_one_of_many_tries_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    troubled = Troubled(store, monkeypatch, 40, after=False)

    async def write(number: int) -> int:
        async def one(tx: Transaction) -> int:
            await tx.salts.add(bytes([number]) * 32, sha256_hex(bytes([number]) * 32))
            return number

        return await store.lasting(one)

    assert await asyncio.gather(*map(write, range(30))) == list(range(30))
    assert troubled.begun == 30 + 30 + 10  # each once, then one after the other: ten more fail before the first works
    assert await salts(store) == 30


async def test_a_sqlite_file_without_room_takes_no_write_and_then_does(sqlite_url: str) -> None:
    async with open_store(sqlite_url, writer=True) as store:
        async with store.begin() as tx:
            pages = await tx.connection.scalar(text("PRAGMA page_count"))
        tries = 0

        async def large(tx: Transaction) -> None:
            nonlocal tries
            tries += 1
            limit = pages if tries < 3 else 10**6
            await tx.connection.execute(text(f"PRAGMA max_page_count = {limit}"))
            await tx.connection.execute(text("CREATE TABLE large AS SELECT randomblob(100000) AS blob"))

        told: list[StoreAwayError] = []
        store.on_outage = told.append
        await store.lasting(large)
        assert [type(error) for error in told] == [StoreNoWriteError] * 2
        assert "full" in told[0].detail
