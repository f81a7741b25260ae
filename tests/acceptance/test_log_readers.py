"""`validator run` whose log nobody reads, and its terminal that closes: rounds continue, a signal ends it with 0."""

import asyncio
import os
import pty
import signal
import termios
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import aiohttp
import pytest
from daemon_process import PROGRAM, Miners, Site, free_port, until

from sssa.protocol.task import Windows
from validator.daemon.exits import Exit
from validator.store import open_store

pytestmark = pytest.mark.faults


@pytest.fixture
async def site(sqlite_url: str, tmp_path: Path) -> AsyncIterator[Site]:
    miners = Miners()
    await miners.start()
    yield Site(tmp_path, sqlite_url, miners, Windows((0, 30), (0, 30)), free_port(), each=1)
    await miners.close()


@contextmanager
def stopped_terminal() -> Iterator[IO[bytes]]:
    """A pseudo-terminal on which somebody has pressed Ctrl-S."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0) as terminal:
        termios.tcflow(theirs, termios.TCOOFF)
        yield terminal


@contextmanager
def full_pipe() -> Iterator[IO[bytes]]:
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "wb", buffering=0) as pipe:
        yield pipe


@contextmanager
def full_disk() -> Iterator[IO[bytes]]:
    with Path("/dev/full").open("wb", buffering=0) as full:
        yield full


@contextmanager
def dead_reader() -> Iterator[IO[bytes]]:
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "wb", buffering=0) as pipe:
        yield pipe


async def started(site: Site, out: IO[bytes], err: IO[bytes]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(*PROGRAM, "run", "--config", str(site.config), stdout=out, stderr=err)


async def settled(site: Site) -> int:
    async with open_store(site.store_url) as store, store.read() as tx:
        return len(await tx.rounds.listing(100_000))


async def response_of(site: Site, path: str) -> str:
    url = f"http://127.0.0.1:{site.health_port}/{path}"
    with suppress(aiohttp.ClientConnectorError):
        async with aiohttp.ClientSession() as session, session.get(url, timeout=aiohttp.ClientTimeout(5)) as answer:
            return f"{answer.status} {await answer.text()}"
    return ""


async def lost(site: Site) -> float:
    lines = (await response_of(site, "metrics")).splitlines()
    return next((float(line.split()[1]) for line in lines if line.startswith("validator_log_lost_lines ")), 0.0)


@pytest.mark.parametrize("log", [stopped_terminal, full_pipe, full_disk, dead_reader])
async def test_a_log_that_takes_nothing_costs_its_lines_alone(site: Site, log: Callable[[], IO[bytes]]) -> None:
    with log() as out, site.log.open("wb") as err:
        process = await started(site, out, err)
        try:

            async def is_lost() -> bool:
                return await lost(site) > 0

            await until(is_lost, site, 120)
            before = await settled(site)

            async def goes_on() -> bool:
                return await settled(site) > before + 1

            await until(goes_on, site)

            async def is_reported() -> bool:
                ready = await response_of(site, "readyz")
                assert ready.startswith("200 "), ready
                return '"log_lost"' in ready

            await until(is_reported, site)
            process.send_signal(signal.SIGUSR1)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 35) == Exit.FINE
        finally:
            with suppress(ProcessLookupError):
                process.kill()


async def test_a_terminal_that_closes_is_a_request_to_stop(site: Site) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "wb", buffering=0) as terminal, site.log.open("wb") as err:
        process = await started(site, terminal, err)
        try:

            async def runs() -> bool:
                return (await response_of(site, "readyz")) != ""

            await until(runs, site)
            os.close(ours)
            for _ in range(3):
                process.send_signal(signal.SIGHUP)
            assert await asyncio.wait_for(process.wait(), 35) == Exit.FINE
        finally:
            with suppress(ProcessLookupError):
                process.kill()
