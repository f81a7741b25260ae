"""`validator run`: the daemon."""

from typing import Annotated

import typer

from validator.cli.errors import EXIT_NO, exit_code
from validator.cli.options import Config
from validator.daemon.signals import Signals, StoppedAtStartError
from validator.protocol.errors import ValidatorError


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
    from validator.daemon.main import run_daemon, tell_failure  # noqa: PLC0415 - see above

    try:
        settings = settings_of(config)
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
