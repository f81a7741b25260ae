"""`validator run`: the daemon."""

from typing import Annotated

import typer

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
    signals.listen()  # first of all: the imports below take a second

    from validator.cli.configured import settings_of  # noqa: PLC0415 - see above
    from validator.daemon.main import run_daemon  # noqa: PLC0415 - see above

    settings = settings_of(config)
    raise typer.Exit(run_daemon(settings.without_signing() if dry_run else settings, signals))
