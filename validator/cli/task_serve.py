"""Running the task server until it is interrupted."""

import asyncio
import signal
import sys
from pathlib import Path

from aiohttp import web

from validator.cli.output import print_line
from validator.protocol.signatures import Signer
from validator.sources import SystemClock
from validator.tasks.directory import DirectorySource
from validator.tasks.folder import find_tasks
from validator.tasks.server import task_server
from validator.telemetry import configure_logging

_SHUTDOWN_S = 5.0


def serve_tasks(directory: Path, host: str, port: int, signer: Signer, validators: frozenset[str] | None) -> None:
    """Serve the tasks below `directory` until SIGINT or SIGTERM; print the address once it can be asked.

    Raises:
        TaskError: the directory cannot be listed.
        OSError: the address cannot be had.
    """
    find_tasks(directory)
    configure_logging("info", "auto", sys.stderr)
    asyncio.run(_serve(directory, host, port, signer, validators))


async def _serve(directory: Path, host: str, port: int, signer: Signer, validators: frozenset[str] | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = task_server(DirectorySource(directory), signer, SystemClock(), validators)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        host, port = runner.addresses[0][:2]
        shown = f"[{host}]" if ":" in host else host
        print_line(f"serving {directory} at http://{shown}:{port} as {signer.hotkey}")
        await stop.wait()
    finally:
        await runner.cleanup()
