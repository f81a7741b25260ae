"""The `validator` command: one file per group of commands with its options, calls and printing.

`commands.py` names all commands, and imports only the file of the command that runs.

Touches the terminal, and everything through the rooms below. Called by the console script.
"""

import io
import sys

import typer

from sssa.cli.errors import complain
from sssa.protocol.errors import ValidatorError
from validator.cli.commands import root


class StoppedError(ValidatorError):
    """Aborted."""


def main() -> None:
    """Run the command line; errors of all commands are shown here."""
    if sys.stdout is None:
        sys.exit(_complain(OSError(0, "standard output is closed")))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        ended = root().main(sys.argv[1:], prog_name="validator", standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except (ValidatorError, OSError, typer.TyperException) as error:
        sys.exit(_complain(error))
    except typer.Abort:
        sys.exit(complain(StoppedError()))


def _complain(error: Exception) -> int:
    from validator.daemon.exits import exit_code  # noqa: PLC0415 - a command that ends well needs no table

    return complain(error, exit_code(error))
