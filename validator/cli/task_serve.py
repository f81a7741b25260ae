"""`validator tasks serve`: the task server, until it is interrupted."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config


def serve(  # noqa: PLR0913, PLR0917 - the options of a command
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of task folders.", show_default=False)],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes any free one.")] = 9_338,
    validators: Annotated[
        list[str] | None,
        typer.Option(
            "--validator",
            metavar="HOTKEY",
            help="A hotkey that is served, required; repeat it for more. Tasks hold truth: nobody else gets any.",
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
    work.task_serve.serve(directory, host, port, validators, hotkey_uri, config)
