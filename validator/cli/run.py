"""`validator run`: the daemon."""

from typing import Annotated

import typer

from validator.cli import work
from validator.cli.options import Config
from validator.daemon.signals import Signals


def run(
    config: Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Sign no weights; the log says what would have been sent.")
    ] = False,
) -> None:
    """Run the validator until SIGTERM; exit 0 when the round in hand was finished, 4 when it was cut off."""
    signals = Signals()
    signals.listen()  # first of all: what does the work takes a second to import
    work.run.run(config, signals, dry_run=dry_run)
