"""`validator run`: the daemon."""

import typer

from validator.cli.options import Config


def run(config: Config = None) -> None:
    """Run the validator until SIGTERM; exit 0 when the round in hand was finished, 4 when it was cut off."""
    from validator.cli.session import settings_of
    from validator.daemon.main import run_daemon

    raise typer.Exit(run_daemon(settings_of(config)))
