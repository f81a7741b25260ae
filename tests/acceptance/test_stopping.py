"""Stops of `validator run`: signals at its start and within a round, a second signal, and `validator drain`."""

import asyncio
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from daemon_process import PROGRAM, Held, Miners, Site, until
from fork_start import Forked
from wallet_files import write_hotkey
from world import VALIDATOR

from sssa.protocol.task import Windows
from validator.daemon.exits import Exit
from validator.daemon.signals import StoppedAtStartError
from validator.store import open_store
from validator.store.rows import StoredRound

WINDOWS = Windows((0, 30), (0, 30))


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners()
    await miners.start()
    yield miners
    await miners.close()


async def the_round(url: str, round_id: int) -> StoredRound:
    async with open_store(url) as store, store.read() as tx:
        stored = await tx.rounds.get(round_id)
    assert stored is not None
    return stored


async def stopped_at_start(process: asyncio.subprocess.Process | Forked, site: Site) -> None:
    assert await asyncio.wait_for(process.wait(), 30) == Exit.NOT_STARTED, site.log.read_text()
    assert site.log.read_text() == f"{StoppedAtStartError()}\n"


async def test_a_signal_while_it_imports(miners: Miners, sqlite_url: str, tmp_path: Path) -> None:
    site = Site(tmp_path, sqlite_url, miners, WINDOWS, each=1)
    async with site.daemon() as process:
        status = Path(f"/proc/{process.pid}/status")

        def listens() -> bool:
            caught = int(status.read_text().partition("SigCgt:")[2].split()[0], 16)
            return bool(caught >> (signal.SIGTERM - 1) & 1)

        await until(listens, site)
        process.send_signal(signal.SIGTERM)
        await stopped_at_start(process, site)


async def test_a_signal_while_the_store_takes_no_write_ends_it_before_its_time_of_grace(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, sqlite_url, miners, WINDOWS, each=1)
    async with site.forked() as process:  # from its first start on the store has a chain
        await until(lambda: site.logged("daemon_started") == 1, site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == Exit.FINE, site.log.read_text()
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    async with site.forked() as process:
        await until(lambda: site.logged("daemon_started") == 2, site)
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 15) == Exit.FINE, site.log.read_text()
    assert "Traceback" not in site.log.read_text()
    other.close()
    async with site.forked() as process:
        await until(lambda: site.logged("daemon_started") == 3, site)


async def test_a_signal_while_no_chain_answers(miners: Miners, sqlite_url: str, tmp_path: Path) -> None:
    asked = asyncio.Event()
    connections: list[asyncio.Task[None]] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(asyncio.ensure_future(silent(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    site = Site(tmp_path, sqlite_url, miners, WINDOWS, each=1)
    write_hotkey(tmp_path / "wallets", VALIDATOR)
    endpoint = f'kind = "bittensor"\nendpoints = ["ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"]'
    settings = site.config.read_text().replace('uri = "//Validator"', f'path = "{tmp_path}/wallets"')
    settings = settings.replace(f'kind = "simulated"\nstate = "{tmp_path}/chain.json"', endpoint)
    site.config.write_text(settings.replace("allow_private_axons = true", ""))
    async with site.forked() as process:
        await asyncio.wait_for(asked.wait(), 60)
        process.send_signal(signal.SIGTERM)
        await stopped_at_start(process, site)
    server.close()
    await server.wait_closed()
    await asyncio.gather(*connections)


@pytest.mark.parametrize("signals", [1, 2])
async def test_one_sigterm_lets_the_round_in_hand_finish_and_two_do_not(
    miners: Miners, sqlite_url: str, tmp_path: Path, signals: int
) -> None:
    site = Site(tmp_path, sqlite_url, miners, WINDOWS, each=1)
    miners.answerer = held = Held()
    async with site.forked() as process:
        await asyncio.wait_for(held.requested.wait(), 60)
        process.send_signal(signal.SIGTERM)
        await until(lambda: site.logged("daemon_stopping") == 1, site)
        if signals == 1:
            held.release.set()
        else:
            process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), 30)
    state = (await the_round(sqlite_url, 0)).record.state
    assert (code, state) == ((Exit.FINE, "settled") if signals == 1 else (Exit.CUT_OFF, "open")), site.log.read_text()


async def draining(site: Site, *options: str) -> asyncio.subprocess.Process:
    """Start `validator drain`; without options return once its request is in the store."""
    command = [*PROGRAM, "drain", *options, "--config", str(site.config)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    if not options:
        assert process.stdout is not None
        assert (await asyncio.wait_for(process.stdout.readline(), 30)).startswith(b"asked: ")
        await until(lambda: site.logged("daemon_draining") == 1, site)
    return process


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.faults
async def test_a_drain_outlasts_the_grace_time_and_the_next_start_ignores_it(
    miners: Miners, store_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, store_url, miners, WINDOWS)
    site.config.write_text(site.config.read_text().replace("grace_s = 20.0", "grace_s = 0.0"))
    miners.answerer = held = Held()
    async with site.forked() as daemon:
        await asyncio.wait_for(held.requested.wait(), 60)
        impatient = await ended(await draining(site, "--timeout", "1"))
        assert (impatient[0], impatient[2]) == (Exit.NO, "not drained within 1 s; the request stays\n")
        waiting = await draining(site)
        assert (daemon.returncode, site.logged("round_settled")) == (None, 0)
        held.release.set()
        code, out, err = await ended(waiting)
        assert (code, err) == (Exit.FINE, "")
        assert out.splitlines()[-1] == "drained: the round in hand was finished, the validator has ended"
        assert await asyncio.wait_for(daemon.wait(), 30) == Exit.FINE, site.log.read_text()
    assert (site.logged("round_started"), site.logged("round_settled")) == (1, 1)
    idle = await ended(await draining(site, "--timeout", "9"))
    assert idle == (Exit.NO, "", "no validator runs on this store\n")
    async with site.forked():
        await until(lambda: site.logged("round_settled") > 1, site)


@pytest.mark.faults
async def test_a_drain_learns_that_the_daemon_was_killed(miners: Miners, sqlite_url: str, tmp_path: Path) -> None:
    site = Site(tmp_path, sqlite_url, miners, WINDOWS)
    miners.answerer = held = Held()
    async with site.forked() as daemon:
        await asyncio.wait_for(held.requested.wait(), 60)
        waiting = await draining(site)
        daemon.kill()
        code, _, err = await ended(waiting)
    assert code == Exit.NO
    assert err == "the validator ended without finishing the round in hand; the next start resumes it\n"
    async with open_store(sqlite_url) as store, store.read() as tx:
        request = await tx.drains.get(1)
    assert request is not None
    assert (request.taken_at is not None, request.ended_at) == (True, None)


@asynccontextmanager
async def held_up(url: str) -> AsyncIterator[Callable[[], bool]]:
    """Keep rounds from being settled; yields a function that says whether a settling waits."""
    if not url.startswith("sqlite"):
        other = psycopg.connect(url)
        other.execute("LOCK TABLE receipts IN SHARE MODE")
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'receipts'::regclass"
        yield lambda: (other.execute(waiting).fetchone() or (0,))[0] > 0
        other.close()
        return
    writer = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    yield lambda: True
    writer.close()


async def test_a_second_signal_does_not_wait_for_the_store_and_the_round_is_settled_once_later(
    miners: Miners, store_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, store_url, miners, WINDOWS, each=1)
    miners.answerer = held = Held()
    async with site.forked() as process:
        await asyncio.wait_for(held.requested.wait(), 60)
        async with held_up(store_url) as waits:
            process.send_signal(signal.SIGTERM)
            await until(lambda: site.logged("daemon_stopping") == 1, site)
            held.release.set()
            await until(waits, site)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == Exit.CUT_OFF, site.log.read_text()
            assert site.logged("daemon_cut_off") + site.logged("daemon_stopped") == 1
            assert site.logged("round_settled") == 0
    assert (await the_round(store_url, 0)).record.state == "open"
    async with site.forked() as process:
        await until(lambda: site.logged("round_settled") > 0, site)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == Exit.FINE
    resumed = await the_round(store_url, 0)
    assert resumed.record.state in {"settled", "void"}
    async with open_store(store_url) as store, store.read() as tx:
        entries = await tx.windows.of_round(0)
    assert len({(entry.hotkey, entry.task_id) for entry in entries}) == len(entries)


COMPUTING = """
from validator.cli import main
from validator.rounds import settle

def forever(*_):
    print('"computing"', flush=True)
    while True:
        pass

settle._score = forever
main()
"""


async def test_a_second_signal_does_not_wait_for_a_thread_that_computes(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    site = Site(tmp_path, sqlite_url, miners, WINDOWS, each=1)
    with site.log.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", COMPUTING, "run", "--config", str(site.config), stdout=log, stderr=log
        )
    try:
        await until(lambda: site.logged("computing") == 1, site)
        for number in (signal.SIGTERM, signal.SIGINT):
            process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), 30) == Exit.CUT_OFF, site.log.read_text()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert site.logged("daemon_cut_off") == 1
    assert (await the_round(sqlite_url, 0)).record.state == "open"
