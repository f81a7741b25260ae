"""Printing for all commands: lines, JSON documents, values for people. What prints escapes, and nothing else does."""

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from sssa.protocol.text import printable
from sssa.protocol.times import format_time

_LINE: Final = 4_000
_SPANS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024
NONE: Final = "-"


def print_json(value: Any) -> None:
    """Print one JSON document on one line: ASCII, numbers in full, times in wire form, named tuples as objects."""
    write_line(json.dumps(_plain(value), default=_plain_leaf, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value, builtin_types=(datetime,), str_keys=True)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _plain_leaf(value: Any) -> Any:
    """Return a value in a form that `json` knows."""
    if isinstance(value, Path):
        return str(value)
    return format_time(value) if isinstance(value, datetime) else msgspec.to_builtins(value)


def picked(one: object, names: str) -> dict[str, Any]:
    """Return attributes of an object by their names, which are separated by spaces."""
    return {name: getattr(one, name) for name in names.split()}


def print_line(text: str = "") -> None:
    """Print one line, escaped."""
    write_line(printable(text, _LINE))


def write_line(line: str) -> None:
    """Write a line that the caller has escaped."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # a reader that has gone must be noticed here, not when the interpreter ends


def cell(value: object) -> str:
    """Return a value as a table shows it: numbers with four decimals, times in wire form, text as it is."""
    if value is None:
        return NONE
    if isinstance(value, tuple):
        return ", ".join(map(cell, value)) or NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    return format_time(value) if isinstance(value, datetime) else str(value)


def byte_size(amount: float | None) -> str:
    """Return bytes in the unit that fits: `213.4 MiB`."""
    if amount is None:
        return NONE
    step = 0
    while amount >= _STEP and step < len(_UNITS) - 1:
        amount, step = amount / _STEP, step + 1
    return f"{amount:.0f} {_UNITS[step]}" if step == 0 else f"{amount:.1f} {_UNITS[step]}"


def span(seconds: float) -> str:
    """Return a duration in its two largest units: `3 h 12 min`; `0 s` if it is not positive."""
    remaining, parts = max(0, int(seconds)), []
    for length, unit in _SPANS:
        if remaining >= length:
            parts.append(f"{remaining // length} {unit}")
            remaining %= length
    return " ".join(parts[:2]) or "0 s"
