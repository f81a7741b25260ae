"""`validator drain`: the running validator finishes its round and ends."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config


def drain(
    config: Config = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="S", min=1, help="Wait no longer; the request stays.")
    ] = None,
) -> None:
    """Let the running validator finish the round in hand, begin no other and end, and wait for that.

    Unlike SIGTERM it sets the round no limit. Exit 1: no validator runs, it ended otherwise, or the time was over.
    """
    work.drain.drain(config, timeout)
