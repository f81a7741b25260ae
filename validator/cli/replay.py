"""`validator replay`: compute rounds again from what is stored, and compare."""

from typing import Annotated

import typer

from validator.audit.replay import replay_elsewhere, replay_rounds, round_ids
from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.options import Config
from validator.cli.progress import progress
from validator.cli.replay_text import Summary, print_replay
from validator.cli.session import ask_store
from validator.protocol.limits import MAX_ROUND_ID

MAX_JOBS = 64


def replay(  # noqa: PLR0913, PLR0917 - each is an option of the command
    round_id: Annotated[
        int | None, typer.Argument(metavar="[ROUND]", min=0, max=MAX_ROUND_ID, help="One round.")
    ] = None,
    since: Annotated[
        int | None, typer.Option(metavar="ROUND", min=0, max=MAX_ROUND_ID, help="This round and all later ones.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All rounds.")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=MAX_JOBS, help="Processes.")] = 1,
    distributed: Annotated[
        bool,
        typer.Option("--distributed", help="Let the workers of the queue do it (`validator worker --queue replay`)."),
    ] = False,
    config: Config = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON document per round, one a line: digests, to compare two runs.")
    ] = False,
) -> None:
    """Compute rounds again from their stored inputs and answers, and compare byte for byte. Exit 1: a difference.

    Nothing is written; a validator may be running.
    """
    if [round_id is not None, since is not None, everything].count(True) != 1:
        raise typer.BadParameter("say which rounds: ROUND, --since ROUND or --all")
    first = since or 0 if round_id is None else round_id
    ids = ask_store(config, lambda tx, _: round_ids(tx, first))
    if round_id is not None:
        ids = tuple(found for found in ids if found == round_id)
    if not ids and not everything:
        raise typer.BadParameter(f"there is no round {first} in the store; `validator rounds list` shows them")
    if distributed and jobs != 1:
        raise typer.BadParameter("--jobs is of this machine, --distributed of others: say one of them")
    summary = Summary()
    url = settings_of(config).store.url.get_secret_value()
    with progress("replaying", len(ids)) as advance:
        for replayed in replay_elsewhere(url, ids) if distributed else replay_rounds(url, ids, jobs):
            print_replay(replayed, as_json=as_json)
            summary.add(replayed)
            advance()
    summary.say(as_json=as_json)
    if summary.different:
        raise typer.Exit(EXIT_NO)
