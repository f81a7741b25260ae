"""Scoring JSON cases from files: one line out per file, one line on stderr per bad file, exit 2 if any was bad."""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import typer

from validator.daemon.exits import Exit
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MIB
from validator.protocol.strict_json import SchemaError, decode
from validator.protocol.text import printable

T = TypeVar("T")
MAX_CASE: Final = 64 * MIB
_PLACE = re.compile(r"(?s)(.*) - at `(.*)`")


def score_files(files: Iterable[str], kind: type[T], score: Callable[[T], Any]) -> None:
    """Print `score(document)` for every file in turn; a bad one does not stop the others."""
    if sys.stdout is None:
        raise OSError(0, "standard output is closed")
    failed = False
    for name in files:
        try:
            result = score(decode(read_case(name), kind, limit=MAX_CASE))
        except (ValidatorError, OSError) as error:
            typer.echo(complaint(name, error), err=True)
            failed = True
        else:
            sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
            sys.stdout.buffer.flush()
    if failed:
        raise typer.Exit(Exit.INPUT)


def read_case(name: str) -> bytes:
    """Return at most a byte more than the limit from the file, or from standard input for `-`.

    Raises:
        OSError: the file cannot be read.
    """
    if name == "-":
        if sys.stdin is None:
            raise OSError(0, "standard input is closed")
        return sys.stdin.buffer.read(MAX_CASE + 1)
    with Path(name).open("rb") as file:
        return file.read(MAX_CASE + 1)


def complaint(name: str, error: Exception) -> str:
    """Return one line: file, field, fault."""
    shown = printable(name)
    if isinstance(error, OSError):
        return f"{shown}: $: cannot be read: {error.strerror or error}"
    text = error.detail if isinstance(error, SchemaError) else str(error)
    place = _PLACE.fullmatch(text)
    fault, field = (place[1], place[2]) if place else (text, "$")
    return f"{shown}: {printable(field)}: {printable(fault, 400)}"
