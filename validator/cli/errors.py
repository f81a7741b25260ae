"""Errors at the command line: clear lines on stderr and an exit code that means something, never a stack trace.

0: fine. 1: the answer is no (problems found, nothing there). 2: bad input, usage or settings. 3: the store or the
environment is not ready.
"""

from typing import Final, NoReturn

import typer

from validator.protocol.text import printable

EXIT_NO: Final = 1
EXIT_INPUT: Final = 2
EXIT_NOT_READY: Final = 3

# Named, not imported: the store and the chain take longer to import than most commands to run.
_INPUT: Final = frozenset(
    f"validator.store.errors.{name}" for name in ("StoreUrlError", "UnstorableError", "EmptyReasonError")
)
_NOT_READY: Final = frozenset(
    {
        "builtins.OSError",
        "validator.chain.base.ChainError",
        "validator.chain.wallet.WalletError",
        "validator.store.errors.StoreError",
        "validator.tasks.source.TaskSourceError",
    }
)
_LINE: Final = 2_000


def exit_code(error: Exception) -> int:
    """Return the exit code for an error that a command ends with."""
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    return EXIT_NOT_READY if names & _NOT_READY and not names & _INPUT else EXIT_INPUT


def complain(error: Exception) -> int:
    """Write the error's lines to stderr and return its exit code."""
    for line in (str(error) or type(error).__name__).splitlines():
        typer.echo(printable(line, _LINE), err=True)
    return exit_code(error)


def say_no(text: str) -> NoReturn:
    """Write one line to stderr and end with exit code 1.

    Raises:
        typer.Exit: always.
    """
    typer.echo(printable(text, _LINE), err=True)
    raise typer.Exit(EXIT_NO)
