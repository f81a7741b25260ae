"""`validator reruns …`: answers that are run again (SPEC 15)."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json, Limit, State

RerunId = Annotated[
    str, typer.Argument(metavar="ID", help="The rerun's id, as `reruns list` has it.", show_default=False)
]


def list_(
    config: Config = None,
    limit: Limit = 20,
    state: State = None,
    as_json: Json = False,
) -> None:
    """List reruns, newest round first, with how many there are in each state."""
    work.reruns.list_(config, limit, state, as_json=as_json)


def show(rerun_id: RerunId, config: Config = None, as_json: Json = False) -> None:
    """Show a rerun: what the miner's traces claim beside what was seen. Exit 1: there is none."""
    work.reruns.show(rerun_id, config, as_json=as_json)


def retry(rerun_id: RerunId, config: Config = None) -> None:
    """Try a rerun again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    work.reruns.retry(rerun_id, config)
