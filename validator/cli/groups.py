"""`validator groups …`: recompute a verification group (SPEC 8)."""

from typing import Annotated

import typer

from validator.cli import work


def select(
    files: Annotated[list[str], typer.Argument(help="JSON documents; `-` is standard input.", show_default=False)],
) -> None:
    """Select the group of a task from its frozen pool and seed."""
    work.groups.select(files)
