"""Worker processes on a real Postgres: killed, stopped, next to a running validator (SPEC 15)."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from daemon_process import Miners, Site, free_port, until
from queue_kit import counted, eventually, sweeping, worker_processes
from waiting_world import checks_of, code_world, entries, plain_world, running
from world import World, one_round

from sssa.protocol.task import Windows
from sssa.protocol.workflow_run import CodeReport
from validator.store import Store, open_store


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    async with open_store(postgres_url, writer=True) as opened:
        yield opened


async def waiting(store: Store, rounds: int) -> World:
    """So many rounds with two executions each, all of which are to be made: as if each had been asked for again."""
    world = plain_world(store)
    for _ in range(rounds):
        await one_round(world)
    async with store.begin() as tx:
        for one in await tx.executions.listing(2 * rounds, "inconclusive"):
            assert await tx.executions.retry(one.work_id, world.clock.now())
    return world


@pytest.mark.parametrize("numbers", [[signal.SIGTERM], [signal.SIGHUP] * 2], ids=["asked", "terminal closed"])
async def test_a_worker_that_is_to_stop_finishes_what_it_has_and_takes_nothing_more(
    store: Store, postgres_url: str, tmp_path: Path, numbers: list[signal.Signals]
) -> None:
    await waiting(store, 3)
    kinds = ("executions", "code")  # what does the second has nothing in hand
    async with sweeping(store, postgres_url), worker_processes(postgres_url, tmp_path, 1.5, kinds) as workers:
        worker = await workers.start()
        await counted(store, lambda counts: counts.get("running") == 2)
        for number in numbers:
            worker.process.send_signal(number)
        assert await asyncio.wait_for(worker.process.wait(), 30) == 0
        assert await counted(store, lambda _: True) == {"done": 2, "pending": 4}
    ours = [line["event"] for line in worker.events() if line["event"] != "judging_budget"]
    assert ours == ["worker_started", "work_ended", "work_ended", "worker_stopped"]


async def test_a_worker_judges_code_and_the_next_round_pays_it(store: Store, postgres_url: str, tmp_path: Path) -> None:
    world = code_world(store)
    await one_round(world)
    async with sweeping(store, postgres_url), worker_processes(postgres_url, tmp_path, kinds=("code",)) as workers:
        await workers.start()
        await eventually(lambda: all_judged(store))
    rows = await checks_of(store)
    assert {one.report for one in rows} == {CodeReport(3, 4, 2)}
    await one_round(world)
    assert [value for _, _, value in await entries(store, 1)] == [one.score for one in rows]


async def all_judged(store: Store) -> bool:
    return all(one.state == "done" for one in await checks_of(store))


@pytest.mark.attack
async def test_on_the_second_sigterm_it_hands_back_what_it_has(store: Store, postgres_url: str, tmp_path: Path) -> None:
    await waiting(store, 1)
    async with sweeping(store, postgres_url), worker_processes(postgres_url, tmp_path, seconds=60) as workers:
        worker = await workers.start()
        await counted(store, lambda counts: counts == {"running": 2})
        worker.process.send_signal(signal.SIGTERM)
        worker.process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(worker.process.wait(), 30) == 0
        await counted(store, lambda counts: counts == {"pending": 2})
    async with store.read() as tx:
        assert {one.attempts for one in await tx.executions.of_round(0)} == {0}


@pytest.mark.attack
async def test_what_a_killed_worker_had_is_taken_back_and_its_place_is_free(
    store: Store, postgres_url: str, tmp_path: Path
) -> None:
    await waiting(store, 1)
    async with sweeping(store, postgres_url), worker_processes(postgres_url, tmp_path, seconds=60) as workers:
        worker = await workers.start()
        await counted(store, lambda counts: counts == {"running": 2})
        worker.process.kill()
        await counted(store, lambda counts: counts == {"pending": 2})
    async with store.read() as tx:
        assert {(one.attempts, one.reason) for one in await tx.executions.of_round(0)} == {(1, "bug_crash")}


@pytest.mark.attack
async def test_a_validator_gives_its_executions_to_a_worker_and_counts_what_comes_of_them(
    postgres_url: str, tmp_path: Path
) -> None:
    miners = Miners()
    miners.answerer = running
    await miners.start()
    site = Site(tmp_path, postgres_url, miners, Windows((0, 15.0), (0, 15.0)), free_port())
    site.config.write_text(site.config.read_text() + '[queue]\nbackend = "postgres"\n')
    async with worker_processes(postgres_url, tmp_path) as workers, site.forked(), open_store(postgres_url) as store:
        await until(lambda: site.log.exists() and "daemon_started" in site.log.read_text(), site)
        await workers.start()

        async def entered() -> bool:
            async with store.read() as tx:
                return any(one.entered_in is not None and one.results for one in await tx.executions.listing(1_000))

        async def report() -> dict[str, Any]:
            async with aiohttp.request("GET", f"http://127.0.0.1:{site.health_port}/readyz") as answer:
                rows: dict[str, Any] = await answer.json()
                return rows

        async def worker_is_seen() -> bool:
            return bool((await report())["checks"]["executions"]["at_once"] == 2)

        await until(entered, site)
        await until(worker_is_seen, site)
        assert "executions_off" not in {one["name"] for one in (await report())["conditions"]}
    await miners.close()
