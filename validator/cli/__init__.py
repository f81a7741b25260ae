"""The `validator` command: one file per group of commands with its options, calls and printing.

`commands.py` names all commands, and imports only the file of the command that runs.

Touches the terminal, and everything through the rooms below. Called by the console script.
"""

from sssa.cli.errors import run_program
from validator.cli.commands import root


def main() -> None:
    """Run the command line."""
    run_program(root, "validator", _code_of)


def _code_of(error: Exception) -> int:
    from validator.daemon.exits import exit_code  # noqa: PLC0415 - a command that ends well needs no table

    return exit_code(error)
