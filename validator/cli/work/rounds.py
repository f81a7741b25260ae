"""What `validator rounds …` does: what happened in the rounds."""

from pathlib import Path

from validator.audit.views import round_list, round_view
from validator.cli.as_json import round_json
from validator.cli.errors import say_no
from validator.cli.output import print_json
from validator.cli.round_text import print_round, print_rounds
from validator.cli.session import ask_store


def list_(limit: int, before: int | None, config: Path | None, *, as_json: bool) -> None:
    """List rounds, newest first."""
    found = ask_store(config, lambda tx, _: round_list(tx, limit, before))
    if as_json:
        print_json({"rounds": found})
    else:
        print_rounds(found)


def show(round_id: int, config: Path | None, *, as_json: bool) -> None:
    """Show a round: groups, exclusions, dispatches with reasons and scores, flags, reputation. Exit 1: no such one."""
    found = ask_store(config, lambda tx, _: round_view(tx, round_id))
    if found is None:
        say_no(f"there is no round {round_id} in the store; `validator rounds list` shows them")
    if as_json:
        print_json(round_json(found))
    else:
        print_round(found)
