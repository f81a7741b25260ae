"""`validator groups …`: recompute a verification group (SPEC 8)."""

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Verification groups.")


@app.callback()
def _groups() -> None:
    """Keep `select` a sub-command although it is the only one."""


@app.command()
def select(
    files: Annotated[list[str], typer.Argument(help="JSON documents; `-` is standard input.", show_default=False)],
) -> None:
    """Select the group of a task from its frozen pool and seed."""
    from validator.cli.cases import score_files
    from validator.cli.group_cases import SelectionCase, select_case

    score_files(files, SelectionCase, select_case)
