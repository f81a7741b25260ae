"""What `validator worker` does: waiting work on this machine, for a validator on another."""

from collections.abc import Sequence
from pathlib import Path

import typer

from validator.cli.configured import settings_of
from validator.daemon.signals import Signals
from validator.daemon.worker import KINDS, run_worker


def worker(queue: Sequence[str], concurrency: int, config: Path | None, signals: Signals) -> None:
    """Do what waits in the queue until SIGTERM.

    Raises:
        typer.BadParameter: `queue` names a kind of work that is not there.
    """
    unknown = [kind for kind in queue if kind not in KINDS]
    if unknown:
        raise typer.BadParameter(f"no such kind of work: {unknown[0]!r}; there are: {', '.join(KINDS)}")
    settings = settings_of(config)
    kinds = tuple(dict.fromkeys(queue or KINDS))
    raise typer.Exit(run_worker(settings, kinds, concurrency, signals))
