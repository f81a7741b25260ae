"""`validator run` and `validator worker`: the processes that do the work.

Each listens for signals before it imports its work, which takes a second.
"""

import os
from typing import Annotated

import typer

from sssa.cli.options import Config
from sssa.protocol.errors import ValidatorError
from validator.daemon.signals import Signals, StoppedAtStartError


def run(
    config: Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Sign no weights; the log says what would have been sent.")
    ] = False,
) -> None:
    """Run the validator until SIGTERM; exit 0 when the round in hand was finished, 4 when it was cut off."""
    signals = Signals()
    signals.listen()
    from validator.daemon.exits import Exit, exit_code  # noqa: PLC0415 - signals first
    from validator.daemon.main import run_daemon, tell_failure  # noqa: PLC0415 - signals first
    from validator.settings.load import load_settings  # noqa: PLC0415 - signals first

    try:
        settings = load_settings(config, os.environ)  # not as other commands: its log is its output
        code = run_daemon(settings.without_signing() if dry_run else settings, signals)
    except StoppedAtStartError:
        raise
    except (ValidatorError, OSError) as error:
        tell_failure(error, exit_code(error))
        raise
    except Exception as error:
        tell_failure(error, Exit.NO)
        raise
    raise typer.Exit(code)


def worker(
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="KIND", help="A kind of work to do; again for several.  [default: all]"),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="So many at the same time.")] = 2,
    config: Config = None,
) -> None:
    """Do what waits in the queue until SIGTERM: executions and code.

    The validator has `queue.backend = "postgres"`. A worker needs a container engine, and nothing else of
    the validator: no file, no wallet, no chain. What is in hand at SIGTERM is finished, after
    180 s or at the second SIGTERM handed back.
    """
    signals = Signals()
    signals.listen()
    from validator.cli.session import settings_of  # noqa: PLC0415 - signals first
    from validator.daemon.worker import KINDS, run_worker  # noqa: PLC0415 - signals first

    if unknown := [kind for kind in queue or () if kind not in KINDS]:
        raise typer.BadParameter(f"no such kind of work: {unknown[0]!r}; there are: {', '.join(KINDS)}")
    kinds = tuple(dict.fromkeys(queue or KINDS))
    raise typer.Exit(run_worker(settings_of(config), kinds, concurrency, signals))
