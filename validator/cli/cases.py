"""Scoring JSON cases from files: one line out per file, one line on stderr per bad file, exit 2 if any was bad."""

import re
import stat
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
_UNREADABLE: Final = "cannot be read"
_PLACE = re.compile(r"(?s)(.*) - at `(.*)`")


class UnreadableError(ValidatorError):
    """A file cannot be read."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{printable(name)}: {printable(fault, 400)}")
        self.fault = printable(fault, 400)


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
    """Return the content of the regular file, or of standard input for `-`, at most `MAX_CASE` bytes.

    Raises:
        UnreadableError: it cannot be read, is larger, or is a pipe or device, which could go on for ever.
    """
    if name == "-":
        if sys.stdin is None:
            raise UnreadableError(name, "standard input is closed")
        data = sys.stdin.buffer.read(MAX_CASE + 1)
    else:
        path = Path(name)
        require_regular(path, MAX_CASE)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_CASE + 1)
        except OSError as error:
            raise UnreadableError(name, error.strerror or str(error)) from None
    if len(data) > MAX_CASE:
        raise UnreadableError(name, f"larger than {MAX_CASE} bytes")
    return data


def require_regular(path: Path, limit: int | None = None) -> None:
    """Look at a file before it is opened.

    Raises:
        UnreadableError: it is not there, larger than `limit` bytes, or no regular file.
    """
    name = str(path)
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise UnreadableError(name, getattr(error, "strerror", None) or "bad name") from None
    if stat.S_ISDIR(found.st_mode):
        raise UnreadableError(name, "Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableError(name, "is no regular file; `-` reads standard input where a command takes it")
    if limit is not None and found.st_size > limit:
        raise UnreadableError(name, f"larger than {limit} bytes")


def complaint(name: str, error: Exception) -> str:
    """Return one line: file, field, fault."""
    shown = printable(name)
    if isinstance(error, UnreadableError):
        return f"{shown}: $: {_UNREADABLE}: {error.fault}"
    text = error.detail if isinstance(error, SchemaError) else str(error)
    place = _PLACE.fullmatch(text)
    fault, field = (place[1], place[2]) if place else (text, "$")
    return f"{shown}: {printable(field)}: {printable(fault, 400)}"
