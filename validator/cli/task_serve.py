"""`validator tasks serve`: the task server, until it is interrupted."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from aiohttp import web

from validator.cli.options import Config
from validator.cli.output import print_line
from validator.cli.signing import checked_hotkeys, signer_of
from validator.protocol.signatures import Signer
from validator.sources import SystemClock
from validator.tasks.directory import DirectorySource
from validator.tasks.folder import find_tasks
from validator.tasks.server import task_server
from validator.telemetry import configure_logging

_SHUTDOWN_S = 5.0


def serve(  # noqa: PLR0913, PLR0917 - the options of a command
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of task folders.", show_default=False)],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes any free one.")] = 9_338,
    validators: Annotated[
        list[str] | None,
        typer.Option(
            "--validator",
            metavar="HOTKEY",
            help="A hotkey that is served; repeat it for more. Without it every hotkey is, miners too.",
            show_default=False,
        ),
    ] = None,
    hotkey_uri: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Sign with a development key such as //Alice instead of the wallet that the settings name.",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
) -> None:
    """Run a task server until it is interrupted; its hotkey signs every list of tasks."""
    served = checked_hotkeys(validators, "--validator")
    serve_tasks(directory, host, port, signer_of(hotkey_uri, config), served)


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
