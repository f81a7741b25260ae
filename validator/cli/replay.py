"""`validator replay`: compute rounds again from what is stored, and compare."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config
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
    work.replay.replay(round_id, since, jobs, config, everything=everything, distributed=distributed, as_json=as_json)
