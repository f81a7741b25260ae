"""`validator status`: one validator on one screen."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def status(
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=1, max=3_600, help="Pause between two looks.")] = 5.0,
    with_chain: Annotated[bool, typer.Option("--chain/--no-chain", help="Whether the chain is asked.")] = True,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show one validator on one screen: store, health report and chain, whichever are there; --watch keeps on.

    A validator may be running or not. With --watch and --json it prints a document per look. Exit 3: the store cannot
    be read.
    """
    raise typer.Exit(work.status.show(config, watch=watch, every_s=every, with_chain=with_chain, as_json=as_json))
