"""Plain tables. Nothing from outside is printed unescaped."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from validator.cli.output import cell, write_line

_GAP: Final = 2
_FOLDED: Final = 24


class Column(NamedTuple):
    """A table's column; `right` for numbers, `fold` for words that may be broken over lines on a narrow terminal."""

    name: str
    right: bool = False
    fold: bool = False


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as wide as the terminal, or as it needs to be where there is none; it never cuts anything off.

    What may be broken over lines is; a terminal too narrow for the rest breaks the lines itself.
    """
    for line in table_lines(columns, rows):
        write_line(line)


def table_lines(columns: Sequence[Column], rows: Iterable[Sequence[object]], *, styled: bool = True) -> list[str]:
    """Return a table's lines, harmless, as `print_table` prints them; on a terminal its head is bold if `styled`."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(cell_len, (column.name, *texts))) for column, *texts in zip(columns, *cells, strict=True)]
    least = [min(width, _FOLDED) if column.fold else width for column, width in zip(columns, widths, strict=True)]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False, header_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(column.name, justify=justify, overflow="fold", no_wrap=not column.fold)
    for texts in cells:
        table.add_row(*map(Text, texts))
    console = Console(markup=False, highlight=False, emoji=False, force_terminal=None if styled else False)
    console.width = max(console.width, sum(least if console.is_terminal else widths) + _GAP * len(columns))
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]
