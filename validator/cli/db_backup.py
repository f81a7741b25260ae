"""`validator db backup` and `db restore`: a store as one file, and back."""

from pathlib import Path
from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new SQLite file.", show_default=False)],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write the store into a new SQLite file that its owner alone can read; a validator may be running."""
    work.db_backup.backup(file, config, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `db backup` wrote.", show_default=False)],
    config: Config = None,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, max=100_000, help="How many of the newest are replayed.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of a store that is not there. Exit 1: its newest rounds differ, nothing is put.

    First the backup is read in whole and brought to this version's tables, and its newest rounds are computed again.
    """
    work.db_backup.restore(file, config, rounds, as_json=as_json)
