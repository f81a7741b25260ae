"""`validator doctor`: what keeps the validator from its work."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def doctor(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="CHECK", help="This check alone; may be given again.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Look at everything that the validator needs, a line for each, with what to do; changes nothing.

    A validator may be running. It takes at most half a minute. Exit 0: all is well. Exit 1: a fault, which keeps it
    from its work. Exit 6: warnings alone.
    """
    raise typer.Exit(work.doctor.examine(config, only or (), as_json=as_json))
