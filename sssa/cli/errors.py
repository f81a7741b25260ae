"""Errors at the command line: clear lines on stderr and an exit code that means something, never a stack trace.

Under `--json` standard output has a document of them. Every command runs inside it.
"""

import io
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn

import typer

from sssa.files import advice
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from sssa.redaction import redact

EXIT_NO: Final = 1
EXIT_INPUT: Final = 2

_LINE: Final = 2_000


class StoppedError(ValidatorError):
    """Aborted."""


def run_program(root: Callable[[], Any], name: str, code_of: Callable[[Exception], int] = lambda _: EXIT_INPUT) -> None:
    """Run a command line and end the process (SystemExit: always); errors of all its commands are shown here.

    Args:
        root: returns the program's group of commands.
        name: of the program.
        code_of: exit code of an error.
    """
    if sys.stdout is None:
        closed = OSError(0, "standard output is closed")
        sys.exit(complain(closed, code_of(closed)))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        ended = root().main(sys.argv[1:], prog_name=name, standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except (ValidatorError, OSError, typer.TyperException) as error:
        sys.exit(complain(error, code_of(error)))
    except typer.Abort:
        sys.exit(complain(StoppedError()))


def complain(error: Exception, code: int = EXIT_INPUT) -> int:
    """Write the error to stderr, under `--json` a document of it to stdout, and return its exit code.

    That is Typer's own for an error of Typer, else `code`.
    """
    if isinstance(error, typer.TyperException):
        usage: Any = error  # each that Typer raises shows itself, with the usage of its command
        usage.show()
        text, code = error.format_message(), error.exit_code
    else:
        text = _text(error)
        _write(text)
    _document(text, code)
    return code


def say_no(text: str) -> NoReturn:
    """Write one line to stderr, under `--json` a document, and end with exit code 1 (typer.Exit: always)."""
    _write(text)
    _document(text, EXIT_NO)
    raise typer.Exit(EXIT_NO)


def _text(error: Exception) -> str:
    todo = advice(error) if isinstance(error, OSError) else None
    text = str(error) or type(error).__name__
    return text if todo is None else f"{text}; {todo}"


def _write(text: str) -> None:
    for line in _lines(text):
        typer.echo(line, err=True)


def _document(text: str, code: int) -> None:
    """Print the document of an error where one was asked for and anybody reads it."""
    if "--json" in sys.argv:
        with suppress(OSError):
            typer.echo(json.dumps({"error": {"exit_code": int(code), "message": "\n".join(_lines(text))}}))


def _lines(text: str) -> list[str]:
    return [printable(redact(line), _LINE) for line in text.splitlines()]
