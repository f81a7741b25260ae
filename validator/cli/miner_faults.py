"""`validator miners faults`: what miners find of faults that are known to be there."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json
from validator.cli.rounds import MAX_ROUNDS


def faults(
    rounds: Annotated[int, typer.Option(min=1, max=MAX_ROUNDS, help="How many of the newest rounds.")] = 100,
    kinds: Annotated[bool, typer.Option("--kinds", help="A line for every kind of fault, over all miners.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show how often each miner found the faults that bundles are known to have. None of it is scored."""
    work.miner_faults.faults(rounds, config, kinds=kinds, as_json=as_json)
