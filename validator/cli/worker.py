"""`validator worker`: waiting work on this machine, for a validator on another."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config
from validator.daemon.signals import Signals

_MOST: int = 64


def worker(
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="KIND", help="A kind of work to do; again for several.  [default: all]"),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=_MOST, metavar="N", help="So many at the same time.")] = 2,
    config: Config = None,
) -> None:
    """Do what waits in the queue until SIGTERM: executions, code, replays.

    The validator has `queue.backend = "postgres"`. A worker needs nothing else of it: no file, no wallet, no chain; for
    executions and code a container engine. What is in hand at SIGTERM is finished, after
    180 s or at the second SIGTERM handed back.
    """
    signals = Signals()
    signals.listen()  # first of all: what does the work takes a second to import
    work.worker.worker(queue or (), concurrency, config, signals)
