"""Idle connections against a whole `validator tasks serve`: what they cost is measured in that process."""

import asyncio
import json
import os
import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from daemon_process import PROGRAM
from task_builders import numbered

from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.sources import SystemClock
from taskmaker.packing import write_task
from taskmaker.task_server import BOUNDS
from validator.tasks.http import HttpSource
from validator.tasks.source import InTurn

MANY = 1_100
LIMIT = 1_024
SERVER, VALIDATOR = Signer.from_uri("//Server"), Signer.from_uri("//Alice")


@pytest.fixture
def _room() -> Iterator[None]:
    """Descriptors for the test's own end of the connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str, int, Path]]:
    """A running server of one task: its process, where it listens, and its log."""
    write_task(numbered(1), folder / "tasks" / "one")
    log = folder / "log"
    words = [*PROGRAM, "tasks", "serve", "tasks", "--port", "0", "--hotkey-uri", "//Server"]
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [*words, "--validator", VALIDATOR.hotkey],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=folder,
        ) as server,
    ):
        try:
            assert server.stdout
            found = re.search(r"http://([0-9.]+):([0-9]+) ", server.stdout.readline())
            assert found, log.read_text()
            yield server, found[1], int(found[2]), log
        finally:
            server.kill()


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def one_task(host: str, port: int) -> int:
    source = HttpSource(f"http://{host}:{port}", SERVER.hotkey, VALIDATOR, SystemClock())
    try:
        return len(await source.fetch(SkillType.DECLARATIVE, 2, InTurn()))
    finally:
        await source.close()


async def ended(pair: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bool:
    try:
        return not await pair[0].read()
    except ConnectionError:
        return True
    finally:
        pair[1].close()


@pytest.mark.usefixtures("_room")
async def test_idle_connections_cost_few_descriptors_and_no_line_of_log(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, host, port, log):
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        before = descriptors(server.pid)
        held = [await asyncio.open_connection(host, port) for _ in range(MANY)]
        assert await asyncio.gather(*(ended(pair) for pair in held[: MANY - BOUNDS.connections]))
        assert descriptors(server.pid) - before <= BOUNDS.descriptors
        assert await one_task(host, port) == 1
        for _, writer in held:
            writer.close()
        assert log.read_text() == ""


@pytest.mark.usefixtures("_room")
async def test_a_server_without_descriptors_says_so_once_and_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, host, port, log):
        assert await one_task(host, port) == 1
        most = descriptors(server.pid) + 4
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, LIMIT))
        held = [await asyncio.open_connection(host, port) for _ in range(10)]
        assert await asyncio.gather(*(ended(pair) for pair in held[:2]))  # each makes way after a second attempt
        (line,) = [json.loads(line) for line in log.read_text().splitlines()]
        assert (line["event"], line["server"], line["reason"]) == ("accept_failed", "tasks", os.strerror(24))
        for _, writer in held:
            writer.close()
        assert await one_task(host, port) == 1
