"""`validator rounds …`: what happened in the rounds."""

from typing import Annotated

import typer

from validator.audit.views import round_list, round_view
from validator.cli.as_json import round_json
from validator.cli.errors import say_no
from validator.cli.options import Config, Json
from validator.cli.output import print_json
from validator.cli.round_text import print_round, print_rounds
from validator.cli.session import ask_store
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
    found = ask_store(config, lambda tx, _: round_list(tx, limit, before))
    if as_json:
        print_json({"rounds": found})
    else:
        print_rounds(found)


def show(
    round_id: Annotated[int, typer.Argument(metavar="ROUND", min=0, help="The round's id.", show_default=False)],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show a round: groups, exclusions, dispatches with reasons and scores, flags, reputation. Exit 1: no such one."""
    found = ask_store(config, lambda tx, _: round_view(tx, round_id))
    if found is None:
        say_no(f"there is no round {round_id} in the store; `validator rounds list` shows them")
    if as_json:
        print_json(round_json(found))
    else:
        print_round(found)
