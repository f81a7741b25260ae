"""`validator proof show` and `export`: the proofs that the store keeps (SPEC 14)."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config
from validator.cli.proof import Format


def show(
    task: Annotated[str, typer.Argument(metavar="TASK", help="From `validator rounds show`.", show_default=False)],
    config: Config = None,
) -> None:
    """Show the proof of a task's group as a page: votes, dissents, tensions, evidence."""
    work.proof_stored.show(task, config)


def export_(
    task: Annotated[str, typer.Argument(metavar="TASK", help="From `validator rounds show`.", show_default=False)],
    form: Format = "json",
    output: Annotated[
        Path | None,
        typer.Option("--output", "--out", metavar="FILE", help="Else standard output.", show_default=False),
    ] = None,
    config: Config = None,
) -> None:
    """Write the signed proof of a task's group; `validator proof verify` checks the JSON."""
    work.proof_stored.export_(task, form, output, config)
