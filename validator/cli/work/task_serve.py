"""What `validator tasks serve` does: the task server, until it is interrupted."""

import asyncio
import signal
import sys
from pathlib import Path

import typer

from validator.cli.output import print_line
from validator.cli.signing import checked_hotkeys, signer_of
from validator.incoming.server import BoundedServer
from validator.protocol.signatures import Signer
from validator.sources import SystemClock
from validator.tasks.directory import DirectorySource
from validator.tasks.folder import find_tasks
from validator.tasks.server import BOUNDS, task_server
from validator.telemetry import configure_logging


def serve(  # noqa: PLR0913, PLR0917 - each is an option
    directory: Path,
    host: str,
    port: int,
    validators: list[str] | None,
    hotkey_uri: str | None,
    config: Path | None,
) -> None:
    """Run a task server until it is interrupted; its hotkey signs every list of tasks."""
    served = checked_hotkeys(validators, "--validator")
    if served is None:
        raise typer.BadParameter(
            "name the hotkey of each validator that is served; tasks hold truth, which miners must not get",
            param_hint="--validator",
        )
    serve_tasks(directory, host, port, signer_of(hotkey_uri, config), served)


def serve_tasks(directory: Path, host: str, port: int, signer: Signer, validators: frozenset[str]) -> None:
    """Serve the tasks below `directory` until SIGINT or SIGTERM; print the address once it can be asked.

    Raises:
        TaskError: the directory cannot be listed.
        OSError: the address cannot be had.
    """
    find_tasks(directory)
    configure_logging("info", "auto", sys.stderr)
    asyncio.run(_serve(directory, host, port, signer, validators))


async def _serve(directory: Path, host: str, port: int, signer: Signer, validators: frozenset[str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = task_server(DirectorySource(directory), signer, SystemClock(), validators)
    server = await BoundedServer("tasks", app, BOUNDS).start(host, port)
    try:
        host, port = server.addresses[0]
        shown = f"[{host}]" if ":" in host else host
        print_line(f"serving {directory} at http://{shown}:{port} as {signer.hotkey}")
        await stop.wait()
    finally:
        await server.close()
