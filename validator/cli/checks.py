"""`validator checks …`: code of plans that is judged after its round (SPEC 12)."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json, Limit, State

CheckId = Annotated[
    str, typer.Argument(metavar="ID", help="The check's id, as `checks list` has it.", show_default=False)
]


def list_(
    config: Config = None,
    limit: Limit = 20,
    state: State = None,
    as_json: Json = False,
) -> None:
    """List code checks, newest round first, with how many there are in each state."""
    work.checks.list_(config, limit, state, as_json=as_json)


def show(check_id: CheckId, config: Config = None, as_json: Json = False) -> None:
    """Show a code check: what became of it, and what it is worth. Exit 1: there is none."""
    work.checks.show(check_id, config, as_json=as_json)


def retry(check_id: CheckId, config: Config = None) -> None:
    """Try a code check again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    work.checks.retry(check_id, config)
