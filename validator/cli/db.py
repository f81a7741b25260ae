"""`validator db …`: the store's tables."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json


def upgrade_(config: Config = None) -> None:
    """Make the tables, or bring them to this version. Stop the validator and make a backup first.

    Prints each migration of tables that are behind, with the seconds that it took; the whole is one transaction.
    """
    work.db.upgrade_(config)


def state(config: Config = None, as_json: Json = False) -> None:
    """Say how the tables relate to this version: empty, current, behind or ahead. Exit 1 unless current."""
    work.db.state(config, as_json=as_json)


def copy(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET_URL", help="A new database: sqlite:///path or postgresql://…", show_default=False
        ),
    ],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Copy the whole store into an empty one, here or on the other database, and compare every row.

    To move for good, stop the validator first. A password is better in ~/.pgpass or $PGPASSWORD than in the url.
    """
    work.db.copy(target, config, as_json=as_json)
