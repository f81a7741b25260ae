"""What commands print: one JSON document, and lines. Nothing from outside is printed unescaped."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from validator.files import write_file
from validator.protocol.text import printable
from validator.protocol.times import format_time

_CELL: Final = 400
NONE: Final = "-"


def print_json(value: Any) -> None:
    """Print one JSON document on one line: ASCII, numbers in full, times in wire form."""
    plain = msgspec.to_builtins(value, builtin_types=(datetime,), str_keys=True)
    write_line(json.dumps(plain, default=format_time, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one harmless line."""
    write_line(printable(text, 10 * _CELL))


def cell(value: object) -> str:
    """Return a value as a table shows it: numbers with four decimals, times in wire form, text escaped."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, datetime):
        return format_time(value)
    return printable(str(value), _CELL)


def write_line(line: str) -> None:
    """Write a line as it is: whoever calls this made it harmless."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # a reader that has gone must be noticed here, not when the interpreter ends


def write_bytes(data: bytes, path: Path | None) -> None:
    """Write a file, whole or not at all, or standard output as it is.

    Raises:
        OSError: it cannot be written.
    """
    if path is not None:
        write_file(path.resolve(), data, mode=None, replace=True)
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
