"""A request to drain: no round begins after it and the daemon ends; one from before its start is nobody's."""

from datetime import UTC, datetime

import pytest
from daemon_kit import Running, running

from validator.store import Store, open_store
from validator.store.rows import Drain

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


async def request_drain(store: Store) -> int:
    async with store.begin() as tx:
        return await tx.drains.ask(WHEN)


async def ended(daemon: Running) -> None:
    """Let time pass until the daemon has ended."""
    while not daemon.task.done():
        await daemon._calm()
        await daemon.clock.advance(0.5)


async def test_a_drained_daemon_begins_no_round_and_ends(sqlite_url: str) -> None:
    async with running(sqlite_url) as daemon:
        await daemon.until(lambda: len(daemon.events("round_settled")) == 2)
        number = await request_drain(daemon.daemon.store)
        begun = len(daemon.events("round_started"))
        await ended(daemon)
        assert daemon.task.result() is True
        assert len(daemon.events("round_started")) - begun <= 1  # the one that began before it was looked
        assert len(daemon.events("round_settled")) == len(daemon.events("round_started"))
        assert len(daemon.events("daemon_draining")) == 1
        async with daemon.daemon.store.read() as tx:
            found = await tx.drains.get(number)
    assert found is not None
    assert found.taken_at is not None
    assert found.ended_at is not None


async def test_a_request_from_before_the_start_is_nobodys(sqlite_url: str) -> None:
    async with open_store(sqlite_url) as store:
        number = await request_drain(store)
    async with running(sqlite_url) as daemon:
        await daemon.until(lambda: len(daemon.events("round_settled")) == 3)
        async with daemon.daemon.store.read() as tx:
            assert await tx.drains.get(number) == Drain(WHEN, None, None)
        assert not daemon.events("daemon_draining")


@pytest.mark.parametrize("more", [0, 1])
async def test_requests_are_numbered_and_end_together(store: Store, more: int) -> None:
    async with store.begin() as tx:
        assert (await tx.drains.newest(), await tx.drains.get(1)) == (0, None)
        first, *later = [await tx.drains.ask(WHEN) for _ in range(1 + more)]
        assert await tx.drains.newest() == first + more
        await tx.drains.take(first, WHEN)
        await tx.drains.end(first, WHEN)
        assert [await tx.drains.get(number) for number in (first, *later)] == [Drain(WHEN, WHEN, WHEN)] * (1 + more)
