"""Processes of a soak, started and stopped here: the network, the daemon, and commands on what they left."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from soak.site import Site

_START_S = 300.0
_END_S = 120.0


@asynccontextmanager
async def network(site: Site) -> AsyncIterator[Process]:
    """Run miners and services until the block ends; they are ready when it begins.

    Raises:
        RuntimeError: they did not become ready.
    """
    with (site.folder / "network.log").open("ab") as log:
        command = (sys.executable, "-m", "soak.soak_network", str(site.folder))
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=log, env=_env())
    try:
        if process.stdout is None:
            raise RuntimeError("the network has no output")
        async with asyncio.timeout(_START_S):
            if await process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"the network did not start: {log.name} says why")
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await _ended(process)


@asynccontextmanager
async def daemon(site: Site) -> AsyncIterator[Process]:
    """Run the validator until the block ends, which asks it to stop if nobody did."""
    with site.log.open("ab") as log:
        command = (sys.executable, "-m", "soak.daemon", str(site.config))
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=_env())
    try:
        yield process
    finally:
        await stopped(process)


async def stopped(process: Process) -> int:
    """Ask a process to stop, wait until it has, and return its exit code."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    return await _ended(process)


async def verified(site: Site) -> str:
    """Export the log of receipts and verify the export; return what is wrong with it, empty if nothing is."""
    out = site.folder / "audit.jsonl"
    exported = await _output("audit", "export", "--out", str(out), "--config", str(site.config))
    return exported or await _output("audit", "verify", str(out))


async def _output(*arguments: str) -> str:
    program = (sys.executable, "-c", "from validator.cli import main; main()", *arguments)
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, stderr=PIPE, env=_env())
    out, err = await process.communicate()
    return "" if process.returncode == 0 else f"exit {process.returncode}: {(out + err).decode()[-2000:]}"


def _env() -> dict[str, str]:
    """Return the environment without a shell's settings and engine: the miners' images are not to be had."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VALIDATOR_", "DOCKER_"))}
    return kept | {"PYTHONPATH": str(Path(__file__).parents[1])}


async def _ended(process: Process) -> int:
    try:
        async with asyncio.timeout(_END_S):
            return await process.wait()
    except TimeoutError:
        process.kill()
        return await process.wait()
