"""The validator's own faults in a real daemon over real sockets: they cost no miner anything (SPEC 16, D-26)."""

import asyncio
import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from daemon_process import PROGRAM, Miners, Site, free_port, honest, until
from state_kit import windows_of

from sssa.protocol.answer import Dispatch
from sssa.protocol.dispatch_record import Dispatch as Stored
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.store import open_store

pytestmark = pytest.mark.faults
STOPPED_S = float(os.environ.get("STOPPED_S", "6"))
LIMIT = 40


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners(5)
    await miners.start()
    yield miners
    await miners.close()


def lines(site: Site, event: str) -> list[dict[str, Any]]:
    whole = site.log.read_text().rpartition("\n")[0]  # the last line may be half written
    found = (json.loads(line) for line in whole.splitlines() if line.startswith("{"))
    return [line for line in found if line["event"] == event]


async def dispatches(store_url: str, round_id: int) -> list[Stored]:
    async with open_store(store_url) as store, store.read() as tx:
        return list(await tx.dispatches.of_round(round_id))


async def test_a_process_that_is_stopped_costs_honest_miners_nothing(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    """Stopped past every deadline, with answers on their way: the deadlines move, the pause is on nobody's time."""
    asked = asyncio.Event()
    waiting: set[str] = set()

    async def two_speeds(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        waiting.add(signer.hotkey)
        if len(waiting) == len(miners.signers):
            asked.set()
        await asyncio.sleep(1.0)  # while the validator is stopped
        return await honest(signer, dispatch, request)

    miners.answerer = two_speeds
    # Primaries' deadline is past when it continues, auditors' as well; nothing may be charged.
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 4), (0, 3)))
    async with site.forked() as daemon:
        async with asyncio.timeout(90):
            await asked.wait()
        os.kill(daemon.pid, signal.SIGSTOP)
        await asyncio.sleep(STOPPED_S)
        os.kill(daemon.pid, signal.SIGCONT)
        miners.answerer = honest
        await until(lambda: len(lines(site, "round_settled")) + len(lines(site, "round_ended")) >= 2, site, 90)
        daemon.terminate()
        await daemon.wait()
    reasons = Counter(str(one.reason) for one in await dispatches(sqlite_url, 0))
    assert set(reasons) == {"accepted"}, reasons
    async with open_store(sqlite_url) as store, store.read() as tx:
        stalls = await tx.stalls.of_round(0)
        windows = await windows_of(tx)
        stored = [one for round_id in (0, 1) for one in await tx.dispatches.of_round(round_id)]
    assert any(STOPPED_S - 0.5 <= stall.seconds <= STOPPED_S + 5 for stall in stalls)
    assert all(value > 0 for types in windows.values() for values in types.values() for value in values)
    assert all((one.seconds or 0) < STOPPED_S for one in stored if one.state == "answered")
    assert lines(site, "stalled")
    await site.output_of("replay", "--all")  # it fails where anything differs


async def test_a_pause_that_no_deadline_falls_into_is_taken_off_the_seconds(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    asked = asyncio.Event()

    async def slowly(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes:
        asked.set()
        await asyncio.sleep(1.5)
        return await honest(signer, dispatch, request)

    miners.answerer = slowly
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 60), (0, 60)))
    async with site.forked() as daemon:
        async with asyncio.timeout(90):
            await asked.wait()
        await asyncio.sleep(0.7)
        os.kill(daemon.pid, signal.SIGSTOP)
        await asyncio.sleep(STOPPED_S)
        os.kill(daemon.pid, signal.SIGCONT)
        miners.answerer = honest
        await until(lambda: len(lines(site, "round_settled")) >= 1, site, 90)
        daemon.terminate()
        await daemon.wait()
    found = await dispatches(sqlite_url, 0)
    assert {one.reason for one in found} == {"accepted"}
    held_up = [one for one in found if one.stalled]
    assert held_up
    for one in held_up:
        assert one.seconds is not None
        assert one.seconds < STOPPED_S


@asynccontextmanager
async def limited(site: Site, limit: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """The daemon under `ulimit -n`."""
    with site.log.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            f'ulimit -S -n {limit}; exec "$@"',
            "sh",
            *PROGRAM,
            "run",
            "--config",
            str(site.config),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def names(conditions: list[dict[str, Any]], field: str) -> set[str]:
    """The conditions, without that of a store that could not open its journal: it does not always try meanwhile."""
    return {each[field] for each in conditions} - {"store_no_write"}


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
async def test_too_few_descriptors_start_no_round_until_there_are_enough(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 20), (0, 20)), health_port=free_port())
    async with limited(site, LIMIT) as daemon, AsyncExitStack() as held:
        await until(lambda: len(lines(site, "condition_raised")) == 2, site, 90)
        (line,) = [line for line in lines(site, "condition_raised") if line["severity"] != "note"]
        assert line["condition"] == "local_descriptors"
        assert f"of {LIMIT} file descriptors" in line["detail"]
        for _ in range(30):
            _, writer = await asyncio.open_connection("127.0.0.1", site.health_port)
            held.callback(writer.close)
        url = f"http://127.0.0.1:{site.health_port}/readyz"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            report = await answer.json()
        assert report["status"] == "unhealthy"
        assert names(report["conditions"], "name") == {"local_descriptors", "executions_off"}
        assert not lines(site, "round_started")
        _, most = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (min(most, 1024), most))
        await until(lambda: len(lines(site, "round_settled")) >= 1, site, 90)
        assert names(lines(site, "condition_cleared"), "condition") == {"local_descriptors"}
        await held.aclose()
        daemon.terminate()
        await daemon.wait()
    assert {one.reason for one in await dispatches(sqlite_url, 0)} == {"accepted"}
