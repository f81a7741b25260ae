"""What commands print: one JSON document, lines, and plain tables. Nothing from outside is printed unescaped."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from validator.protocol.text import printable

_CELL: Final = 400
_GAP: Final = 2
_FOLDED: Final = 24
NONE: Final = "-"


class Column(NamedTuple):
    """A table's column; `right` for numbers, `fold` for words that may be broken over lines on a narrow terminal."""

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
    """Print a table as wide as the terminal, or as it needs to be where there is none; it never cuts anything off.

    What may be broken over lines is; a terminal too narrow for the rest breaks the lines itself.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(cell_len, (column.name, *texts))) for column, *texts in zip(columns, *cells, strict=True)]
    least = [min(width, _FOLDED) if column.fold else width for column, width in zip(columns, widths, strict=True)]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False, header_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(column.name, justify=justify, overflow="fold", no_wrap=not column.fold)
    for texts in cells:
        table.add_row(*map(Text, texts))
    console = Console(markup=False, highlight=False, emoji=False)
    console.width = max(console.width, sum(least if console.is_terminal else widths) + _GAP * len(columns))
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        _write(line.rstrip())


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
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # a reader that has gone must be noticed here, not when the interpreter ends


def write_bytes(data: bytes, path: Path | None) -> None:
    """Write a file, or standard output as it is.

    Raises:
        OSError: it cannot be written.
    """
    if path is not None:
        path.write_bytes(data)
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
