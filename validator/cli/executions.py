"""`validator executions …`: tasks whose bundles are run after their round (SPEC 15)."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config, Json, Limit, State

ExecutionId = Annotated[
    str, typer.Argument(metavar="ID", help="The execution's id, as `executions list` has it.", show_default=False)
]


def list_(
    config: Config = None,
    limit: Limit = 20,
    state: State = None,
    as_json: Json = False,
) -> None:
    """List executions, newest round first, with how many there are in each state."""
    work.executions.list_(config, limit, state, as_json=as_json)


def show(execution_id: ExecutionId, config: Config = None, as_json: Json = False) -> None:
    """Show an execution: the runs next to what each miner's traces claim. Exit 1: there is none."""
    work.executions.show(execution_id, config, as_json=as_json)


def retry(execution_id: ExecutionId, config: Config = None) -> None:
    """Execute a task again now: one that waits, or one that ended inconclusive. Exit 1: it is neither."""
    work.executions.retry(execution_id, config)
