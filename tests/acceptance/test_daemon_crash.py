"""The daemon as a process: kill -9 in the middle of a round, restart, stop (SPEC 5, D-6)."""

import asyncio
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from daemon_process import Held, Miners, Site, honest, until
from state_kit import windows_of

from validator.daemon.exits import Exit
from validator.protocol.answer import Dispatch
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.protocol.task import Windows
from validator.store import Store, open_store
from validator.store.errors import StoreError
from validator.store.rows import StoredRound


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners()
    await miners.start()
    yield miners
    await miners.close()


async def reader(url: str, site: Site) -> Store:
    """A store that only reads, as soon as the daemon has made the tables."""
    opened: list[Store] = []

    async def can_open() -> bool:
        try:
            opened.append(await open_store(url))
        except StoreError:
            return False
        return True

    await until(can_open, site)
    return opened[0]


async def the_round(store: Store, round_id: int) -> StoredRound | None:
    async with store.read() as tx:
        return await tx.rounds.get(round_id)


async def test_killed_between_dispatch_and_settle_the_round_is_settled_once(
    miners: Miners, empty_store_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, empty_store_url, miners, Windows((0, 30), (0, 30)), each=1)
    held: set[str] = set()
    release = asyncio.Event()

    async def holding_one_task(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        if not held:
            held.add(dispatch.task_id)
        if dispatch.task_id in held:
            await release.wait()
        return await honest(signer, dispatch, request)

    miners.answerer = holding_one_task
    async with site.forked() as process:
        store = await reader(empty_store_url, site)

        async def all_others_answered() -> bool:
            async with store.read() as tx:
                records = await tx.dispatches.of_round(0) if await tx.rounds.get(0) else ()
            waiting = [r for r in records if r.state in ("planned", "sent")]
            return bool(records) and {r.key.task_id for r in waiting} <= held and len(waiting) == 5

        await until(all_others_answered, site)
        process.kill()
        await process.wait()
    before = await the_round(store, 0)
    assert before is not None
    assert before.record.state == "open"
    async with store.read() as tx:
        assert await windows_of(tx) == {}
    release.set()
    miners.answerer = honest
    async with site.forked() as process:

        async def next_round_settled() -> bool:
            stored = await the_round(store, 1)
            return stored is not None and stored.record.state == "settled"

        await until(next_round_settled, site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0, site.log.read_text()[-3000:]
    await check_round_zero(store, held)
    await store.close()


async def check_round_zero(store: Store, held: set[str]) -> None:
    """Five tasks settled with all their answers, each counted once; the held one void."""
    stored = await the_round(store, 0)
    assert stored is not None
    assert stored.outcome is not None
    reasons = {group.task_id: group.reason for group in stored.outcome.groups}
    assert {task_id for task_id, reason in reasons.items() if reason == Reason.BUG_CRASH} == held
    assert Counter(reasons.values()) == {Reason.SETTLED: 5, Reason.BUG_CRASH: 1}
    assert Counter(member.reason for member in stored.outcome.members) == {Reason.ACCEPTED: 25}
    async with store.read() as tx:
        entries = await tx.windows.of_round(0)
        records = await tx.dispatches.of_round(0)
        rounds = await tx.rounds.listing(50)
        windows = await windows_of(tx)
    assert len({(entry.hotkey, entry.task_id) for entry in entries}) == len(entries) == 25
    assert len([event for event in stored.outcome.reputation if event.kind == "consensus_high"]) == 25
    assert Counter(record.state for record in records) == {"answered": 25, "void": 5}
    settled = [record for record in rounds if record.state == "settled"]
    assert len(settled) == len(rounds)
    total = sum(len(values) for of_types in windows.values() for values in of_types.values())
    assert total == sum((record.accepted_count or 0) + (record.failed_count or 0) for record in rounds)


async def test_sigterm_lets_the_round_in_hand_finish_and_a_second_one_does_not(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 30), (0, 30)), each=1)
    miners.answerer = held = Held()
    async with site.forked() as process:
        await asyncio.wait_for(held.asked.wait(), 60)
        process.send_signal(signal.SIGTERM)
        store = await reader(sqlite_url, site)
        await until(lambda: site.logged("daemon_stopping") >= 1, site)
        held.release.set()
        assert await asyncio.wait_for(process.wait(), 30) == 0
    first = await the_round(store, 0)
    assert first is not None
    assert first.record.state == "settled"
    assert await the_round(store, 1) is None

    miners.answerer = held = Held()
    async with site.forked() as process:
        await asyncio.wait_for(held.asked.wait(), 60)
        process.send_signal(signal.SIGTERM)
        await until(lambda: site.logged("daemon_stopping") >= 2, site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 4
    second = await the_round(store, 1)
    assert second is not None
    assert second.record.state == "open"
    await store.close()


async def test_two_daemons_on_one_store_the_second_says_so_and_exits(
    miners: Miners, empty_store_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, empty_store_url, miners, Windows((0, 30), (0, 30)), each=1)
    async with site.forked() as first:
        store = await reader(empty_store_url, site)
        async with site.forked() as second:
            assert await asyncio.wait_for(second.wait(), 30) == Exit.STORE_IN_USE
        assert first.returncode is None
        assert "Another validator writes to this store" in site.log.read_text()
        await store.close()


async def test_a_taken_health_port_is_one_clear_line(miners: Miners, sqlite_url: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        site = Site(tmp_path, sqlite_url, miners, Windows((0, 30), (0, 30)), taken.getsockname()[1], each=1)
        async with site.forked() as process:
            code = await asyncio.wait_for(process.wait(), 30)
    lines = site.log.read_text().splitlines()
    assert code == 2
    assert "The health endpoint cannot listen" in lines[-1]
    assert not any("Traceback" in line for line in lines)
