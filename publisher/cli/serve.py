"""`validator serve`: the process that answers API and pages. It listens for signals before it imports its work."""

from typing import Annotated

import typer

from sssa.cli.options import Config
from sssa.cli.output import write_line
from sssa.sources import SystemRandom
from validator.daemon.signals import Signals


def serve(
    show_token: Annotated[
        bool, typer.Option("--show-token", help="Print the operator's token, made where there is none, and end.")
    ] = False,
    config: Config = None,
) -> None:
    """Serve the read-only API and the pages until SIGTERM, as the section [web] says; a validator may be running.

    It reads the store and writes nothing; the wallet is not read. Exit 2: web.api is not true.
    """
    signals = Signals()
    signals.listen()
    from publisher.serving import run_serve  # noqa: PLC0415 - signals first
    from publisher.web.operator_token import operator_token  # noqa: PLC0415 - signals first
    from validator.cli.session import settings_of  # noqa: PLC0415 - signals first

    settings = settings_of(config)
    if show_token:
        write_line(operator_token(settings, SystemRandom()))
        raise typer.Exit
    raise typer.Exit(run_serve(settings, signals))
