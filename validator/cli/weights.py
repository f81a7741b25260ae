"""`validator weights …`: what was sent to the chain (SPEC 11)."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def show(
    config: Config = None,
    mechid: Annotated[
        int | None,
        typer.Option("--mechid", metavar="ID", help="The mechanism; else that of assessments.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the newest submission: its fate, scores and weights. Exit 1: there was none yet."""
    work.weights.show(config, mechid, as_json=as_json)


def unlock(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; stored with the lock.")],
    config: Config = None,
) -> None:
    """Clear the lock that another program's use of the hotkey left. Exit 1: nothing is locked."""
    work.weights.unlock(reason, config)
