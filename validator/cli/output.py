"""What commands print: one JSON document, lines, and plain tables. Nothing from outside is printed unescaped."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import typer

from validator.protocol.text import printable

_CELL: Final = 400
NONE: Final = "-"


class Column(NamedTuple):
    """A table's column; `right` for numbers, `fold` for what may be broken over lines on a narrow terminal."""

    name: str
    right: bool = False
    fold: bool = False


def print_json(value: Any) -> None:
    """Print one JSON document on one line: ASCII, numbers in full, times in wire form."""
    import msgspec

    plain = msgspec.to_builtins(value, builtin_types=(datetime,), str_keys=True)
    _write(json.dumps(plain, default=_wire_time, allow_nan=False))


def print_line(text: str = "") -> None:
    """Print one harmless line."""
    _write(printable(text, 10 * _CELL))


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: as wide as the terminal, or as wide as it needs to be where there is none."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=not column.fold,
        )
    for row in rows:
        table.add_row(*(Text(cell(value)) for value in row))
    sys.stdout.flush()
    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = max(
            console.width, Measurement.get(console, console.options.update(width=10_000), table).maximum
        )
    console.print(table)


def cell(value: object) -> str:
    """Return a value as a table shows it: numbers with four decimals, times in wire form, text escaped."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, datetime):
        return _wire_time(value)
    return printable(str(value), _CELL)


def _wire_time(moment: datetime) -> str:
    from validator.protocol.times import format_time

    return format_time(moment)


def _write(line: str) -> None:
    typer.echo(line)
