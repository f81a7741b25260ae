"""`validator drain` of a running daemon: the round in hand is finished whatever it takes, and no other begins."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from daemon_process import PROGRAM, Held, Miners, Site, until

from validator.daemon.exits import Exit
from validator.protocol.answer import Dispatch
from validator.protocol.signatures import Signer
from validator.protocol.task import Windows
from validator.store import open_store

pytestmark = pytest.mark.faults


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners()
    await miners.start()
    yield miners
    await miners.close()


async def draining(site: Site, *options: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [*PROGRAM, "drain", *options, "--config", str(site.config)]
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def said(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


async def test_a_drain_outlasts_the_grace_time_and_the_next_start_takes_no_notice_of_it(
    miners: Miners, store_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, store_url, miners, Windows((0, 30), (0, 30)))
    site.config.write_text(site.config.read_text().replace("grace_s = 20.0", "grace_s = 0.0"))
    miners.answerer = held = Held()
    async with site.daemon() as daemon:
        await asyncio.wait_for(held.asked.wait(), 60)
        impatient = await said(await draining(site, "--timeout", "1"))
        assert impatient[0] == Exit.NO
        assert impatient[2] == "not drained within 1 s; the request stays\n"
        waiting = await draining(site)
        assert waiting.stdout is not None
        assert (await asyncio.wait_for(waiting.stdout.readline(), 30)).startswith(b"asked: ")
        await until(lambda: site.logged("daemon_draining") == 1, site)
        assert daemon.returncode is None
        assert site.logged("round_settled") == 0
        held.release.set()
        code, out, err = await said(waiting)
        assert (code, err) == (Exit.FINE, "")
        assert out.splitlines()[-1] == "drained: the round in hand was finished, the validator has ended"
        assert await asyncio.wait_for(daemon.wait(), 30) == Exit.FINE, site.log.read_text()
    assert (site.logged("round_started"), site.logged("round_settled")) == (1, 1)
    code, out, err = await said(await draining(site))
    assert (code, out, err) == (Exit.NO, "", "no validator runs on this store\n")
    async with site.daemon() as daemon:
        await until(lambda: site.logged("round_settled") > 1, site)
        daemon.kill()


async def test_who_waits_learns_that_the_daemon_was_killed(miners: Miners, sqlite_url: str, tmp_path: Path) -> None:
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 30), (0, 30)))
    asked = asyncio.Event()

    async def never(_signer: Signer, _dispatch: Dispatch, _request: web.Request) -> bytes:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    miners.answerer = never
    async with site.daemon() as daemon:
        await asyncio.wait_for(asked.wait(), 60)
        waiting = await draining(site)
        assert waiting.stdout is not None
        assert (await asyncio.wait_for(waiting.stdout.readline(), 30)).startswith(b"asked: ")
        await until(lambda: site.logged("daemon_draining") == 1, site)
        daemon.send_signal(signal.SIGKILL)
        code, _, err = await said(waiting)
    assert code == Exit.NO
    assert err == "the validator ended without finishing the round in hand; the next start resumes it\n"
    async with open_store(sqlite_url) as store, store.read() as tx:
        found = await tx.drains.get(1)
    assert found is not None
    assert (found.taken_at is not None, found.ended_at) == (True, None)
