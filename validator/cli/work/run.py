"""What `validator run` does: the daemon."""

import os
from pathlib import Path

import typer

from validator.cli.errors import EXIT_NO, exit_code
from validator.daemon.main import run_daemon, tell_failure
from validator.daemon.signals import Signals, StoppedAtStartError
from validator.protocol.errors import ValidatorError
from validator.settings import load_settings


def run(config: Path | None, signals: Signals, *, dry_run: bool) -> None:
    """Run the validator until SIGTERM; the log tells what ended it before."""
    try:
        settings = load_settings(config, os.environ)  # not as other commands: its log is its output
        code = run_daemon(settings.without_signing() if dry_run else settings, signals)
    except StoppedAtStartError:
        raise
    except (ValidatorError, OSError) as error:
        tell_failure(error, exit_code(error))
        raise
    except Exception as error:
        tell_failure(error, EXIT_NO)
        raise
    raise typer.Exit(code)
