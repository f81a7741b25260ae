"""`validator db check`: whether the store is whole."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def check(
    config: Config = None,
    as_json: Json = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="First make histories and collusion windows again from the rounds; stop the validator."
        ),
    ] = False,
) -> None:
    """Look for damage: pages, tables, references, digests, the log. Exit 1: there is some; 17: in the file itself.

    Without --rebuild nothing is written, and a validator may be running. No round is scored again.
    """
    work.db_check.check(config, as_json=as_json, rebuild=rebuild)
