"""A daemon whose store is moved, deleted, cut short, full, killed or stopped: it says so, and no miner loses."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web
from daemon_process import Miners, Site, free_port, honest, until
from store_faults import (
    events,
    fill,
    health,
    nobody_lost,
    postgres,
    quiet,
    resize,
    settled,
    shows,
    small_disk,
)

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.daemon.exits import Exit
from validator.store import open_store

pytestmark = [pytest.mark.faults, pytest.mark.timeout(400)]
AWAY_S = float(os.environ.get("FAULTS_S", "20"))
LARGE = "2g"
ANY_TIME = Windows((0, 200), (0, 200))


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners(3)
    await miners.start()
    yield miners
    await miners.close()


class Gate:
    """Miners behind it answer when it is open; `asked` counts."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.requests = 0

    async def __call__(self, signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        self.requests += 1
        await self.open.wait()
        return await honest(signer, dispatch, request)


def moved(file: Path) -> None:
    file.rename(file.with_name("elsewhere.sqlite"))


def deleted(file: Path) -> None:
    for one in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        one.unlink(missing_ok=True)


def cut_short(file: Path) -> None:
    os.truncate(file, 8192)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


@pytest.mark.parametrize("fault", [moved, deleted, cut_short, emptied])
async def test_a_file_that_is_lost_ends_the_daemon_within_a_minute(
    miners: Miners, fault: Callable[[Path], None], tmp_path: Path
) -> None:
    file = tmp_path / "store.sqlite"
    site = Site(tmp_path, f"sqlite:///{file}", miners, ANY_TIME, free_port())
    async with site.daemon() as process:
        await until(lambda: settled(site) >= 2, site)
        before = len(events(site))
        fault(file)
        code = await asyncio.wait_for(process.wait(), 60)
    assert code == Exit.STORE_DAMAGED
    (lost,) = events(site, "store_lost")
    assert lost["reason"] == "local_store_damaged"
    assert "restore the newest backup" in site.log.read_text().splitlines()[-1]
    quiet(site, before, 60)
    async with site.daemon() as process:  # a supervisor's restart makes no new store in its place
        assert await asyncio.wait_for(process.wait(), 60) == Exit.STORE_DAMAGED
    if fault is moved:
        rounds = settled(site)
        file.with_name("elsewhere.sqlite").rename(file)  # as the advice says
        async with site.daemon():
            await until(lambda: settled(site) > rounds, site)
        async with open_store(site.store_url) as store:
            await nobody_lost(store, rounds)


async def test_a_full_disk_is_told_and_costs_nobody_anything(miners: Miners, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", LARGE) as disk:
        site = Site(tmp_path, f"sqlite:///{disk}/store.sqlite", miners, ANY_TIME, free_port())
        miners.answerer = gate = Gate()
        async with site.daemon() as process:
            await until(lambda: settled(site) >= 1, site)
            gate.open.clear()
            requests = gate.requests
            await until(lambda: gate.requests > requests, site)  # a round is in hand
            before, rounds = len(events(site)), settled(site)
            fill(disk)  # only now: no round starts on a disk that is as small from the start
            gate.open.set()
            assert await shows(site, "store_no_write") < 30
            await asyncio.sleep(AWAY_S)
            quiet(site, before, AWAY_S)
            assert process.returncode is None
            resize(disk, LARGE)
            await until(lambda: settled(site) > rounds + 1, site)
            await until(lambda: bool(events(site, "condition_cleared")), site)
            assert (await health(site)).status == "ok"
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 60) == Exit.FINE
        async with open_store(f"sqlite:///{disk}/store.sqlite") as store:
            await nobody_lost(store, rounds + 1)


@pytest.mark.parametrize("fault", ["killed", "stopped"])
async def test_a_database_that_is_away_costs_no_round(
    miners: Miners, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres(monkeypatch) as server:
        site = Site(tmp_path, server.url, miners, ANY_TIME, free_port())
        miners.answerer = gate = Gate()
        async with site.daemon() as process:
            await until(lambda: settled(site) >= 1, site)
            gate.open.clear()
            requests = gate.requests
            await until(lambda: gate.requests > requests, site)  # a round is in hand
            before, rounds = len(events(site)), settled(site)
            server.kill() if fault == "killed" else server.signal(signal.SIGSTOP)
            gate.open.set()  # its answers arrive while the database is away
            assert await shows(site, "store_away") < 30
            await asyncio.sleep(AWAY_S)
            assert process.returncode is None
            assert not events(site, "weights_submitted")[before:]
            server.start() if fault == "killed" else server.signal(signal.SIGCONT)
            await until(lambda: settled(site) > rounds + 1, site)
            await until(lambda: bool(events(site, "condition_cleared")), site)
            quiet(site, before, AWAY_S)
            assert (await health(site)).status == "ok"
            async with site.daemon() as second:  # it has the lock again
                assert await asyncio.wait_for(second.wait(), 60) == Exit.STORE_IN_USE
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 60) == Exit.FINE
        async with open_store(server.url) as store:
            await nobody_lost(store, rounds + 1)
