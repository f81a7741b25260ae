"""`validator rounds …`: what happened in the rounds."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json
from validator.protocol.limits import MAX_ROUND_ID

MAX_ROUNDS = 10_000


def list_(
    limit: Annotated[int, typer.Option(min=1, max=MAX_ROUNDS, help="Most rounds.")] = 20,
    before: Annotated[
        int | None, typer.Option(metavar="ID", min=0, max=MAX_ROUND_ID, help="Only rounds before this one, for paging.")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List rounds, newest first."""
    work.rounds.list_(limit, before, config, as_json=as_json)


def show(
    round_id: Annotated[int, typer.Argument(metavar="ROUND", min=0, help="The round's id.", show_default=False)],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show a round: groups, exclusions, dispatches with reasons and scores, flags, reputation. Exit 1: no such one."""
    work.rounds.show(round_id, config, as_json=as_json)
