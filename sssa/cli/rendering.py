"""Tables, pages of text and progress bars, which `cli/` prints. Nothing from outside is printed unescaped."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import attrgetter
from typing import Any, Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from sssa.cli.output import byte_size, cell, print_json, print_line, write_line
from sssa.protocol.text import all_printable

_GAP: Final = 2
_FOLDED: Final = 24
_CELL: Final = 400
_LINE: Final = 2_000
_PLAIN_WIDTH: Final = 100
_WIDEST: Final = 120
LISTED: Final = 20


class Column(NamedTuple):
    """A column of a table; `right` for numbers, `fold` for text that may be wrapped on a narrow terminal.

    `attribute` is what it shows of the objects of a table of these, `form` how.
    """

    name: str
    right: bool = False
    fold: bool = False
    attribute: str = ""
    form: str = ""

    def cell(self, one: object) -> object:
        """Return the cell of an object."""
        value = attrgetter(self.attribute)(one)
        if not self.form or value is None:
            return value
        return byte_size(value) if self.form == "B" else format(value, self.form)


def columns(names: str) -> list[Column]:
    """Return the columns that are named, separated by spaces.

    `>` at the end of a name aligns to the right, `~` lets cells be wrapped, `_` is a space, `.` alone is no name.
    `=` is followed by the attribute that is shown, which else has the column's name, `:` by the format of its values,
    `B` for bytes.
    """
    parsed = []
    for word in names.split():
        name, _, shown = word.rstrip(">~").partition("=")
        attribute, _, form = (shown or name).partition(":")
        name = name.partition(":")[0].replace("_", " ").replace(".", "")
        parsed.append(Column(name, word.endswith(">"), word.endswith("~"), attribute, form))
    return parsed


def print_rows(names: str, objects: Iterable[object]) -> None:
    """Print a table of objects, by the attributes that `columns` takes from the names."""
    print_table(names, _rows_of(names, objects))


def print_listing(name: str, objects: Sequence[object], names: str, *, as_json: bool, none: str = "") -> None:
    """Print a listing under its name as one JSON document; for people as a table, where it is empty as a line."""
    if as_json:
        print_json({name: objects})
    elif objects:
        print_rows(names, objects)
    else:
        print_line(none or f"no {name}")


def _rows_of(names: str, objects: Iterable[object]) -> Iterator[Sequence[object]]:
    shown = columns(names)
    return (cells_of(shown, one) for one in objects)


def cells_of(shown: Iterable[Column], one: object) -> list[object]:
    """Return the cells of an object."""
    return [column.cell(one) for column in shown]


def print_table(names: str | Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as wide as the terminal, or as it needs to be where there is none; nothing is cut off.

    `names` are the columns, or their names as `columns` takes them. Columns that fold are wrapped. A terminal that is
    too narrow for the others breaks the lines itself.
    """
    for line in table_lines(names, rows):
        write_line(line)


def table_lines(names: str | Sequence[Column], rows: Iterable[Sequence[object]], *, styled: bool = True) -> list[str]:
    """Return the escaped lines of a table as `print_table` prints them; the head is bold on a terminal if `styled`."""
    shown = columns(names) if isinstance(names, str) else names
    cells = _cells(rows)
    widths = [max(map(cell_len, (column.name, *texts))) for column, *texts in zip(shown, *cells, strict=True)]
    least = [min(width, _FOLDED) if column.fold else width for column, width in zip(shown, widths, strict=True)]
    console = Console(markup=False, highlight=False, emoji=False, force_terminal=None if styled else False)
    console.width = max(console.width, sum(least if console.is_terminal else widths) + _GAP * len(shown))
    with console.capture() as capture:
        console.print(_table(shown, cells, "bold"))
    return [line.rstrip() for line in capture.get().splitlines()]


def _cells(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    """Return the escaped cells of a table."""
    lengths: list[int] = []
    values: list[object] = []
    for row in rows:
        lengths.append(len(row))
        values += row
    escaped = iter(all_printable([cell(value) for value in values], _CELL))
    return [list(islice(escaped, length)) for length in lengths]


def _table(shown: Sequence[Column], cells: Iterable[Sequence[str]], header_style: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False, header_style=header_style)
    for column in shown:
        justify: Any = "right" if column.right else "left"
        table.add_column(column.name, justify=justify, overflow="fold", no_wrap=not column.fold)
    for texts in cells:
        table.add_row(*map(Text, texts))
    return table


class _Line(NamedTuple):
    """A line of a page, not escaped yet; without an indent it is in a rule."""

    text: str
    style: str
    indent: int | None


class _Rows(NamedTuple):
    """A table of a page, not escaped yet."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    indent: int


class Page:
    """A page of text: headings, wrapped lines and small tables, escaped and written at once.

    It is as wide as the terminal, at most 120, and 100 where there is no terminal.
    """

    def __init__(self) -> None:
        self._blocks: list[RenderableType | _Line | _Rows] = []

    def title(self, text: str) -> None:
        """Add a bold line."""
        self.line(text, indent=0, style="bold")

    def section(self, text: str) -> None:
        """Add a blank line and a rule with a title."""
        self.blank()
        self._blocks.append(_Line(text, "bold", None))

    def heading(self, text: str) -> None:
        """Add a blank line and a bold line."""
        self.blank()
        self.title(text)

    def line(self, text: str, *, indent: int = 2, style: str = "") -> None:
        """Add a sentence, which is wrapped under its own beginning."""
        self._blocks.append(_Line(text, style, indent))

    def blank(self) -> None:
        """Add a blank line."""
        self._blocks.append(Text(""))

    def table(
        self,
        names: str | Sequence[Column],
        rows: Iterable[Sequence[object]],
        *,
        indent: int = 2,
        most: int | None = None,
    ) -> None:
        """Add a table with at most `most` rows; columns that fold are wrapped where the page is too narrow."""
        all_rows = list(rows)
        shown = columns(names) if isinstance(names, str) else names
        self._blocks.append(_Rows(shown, all_rows[:most], indent))
        self._more(len(all_rows) - len(all_rows[:most]), indent)

    def rows(self, names: str, objects: Iterable[object], *, indent: int = 2) -> None:
        """Add a table of objects, by the attributes that `columns` takes from the names."""
        self.table(names, _rows_of(names, objects), indent=indent)

    def lists(self, lists: Mapping[str, Sequence[str]]) -> None:
        """Add the lists that hold anything, each with its label and a line for each of its first 20 things."""
        for label, things in lists.items():
            if things:
                self.line(f"{label}:")
                for thing in things[:LISTED]:
                    self.line(thing, indent=4)
                self._more(len(things) - LISTED, 4)

    def write(self) -> None:
        """Write the page to standard output."""
        console = Console(markup=False, highlight=False, emoji=False)
        known = console.is_terminal or "COLUMNS" in os.environ
        console.width = min(console.width, _WIDEST) if known else _PLAIN_WIDTH
        texts = iter(all_printable([block.text for block in self._blocks if isinstance(block, _Line)], _LINE))
        cells = iter(_cells([row for block in self._blocks if isinstance(block, _Rows) for row in block.rows]))
        with console.capture() as capture:
            for block in self._blocks:
                shown = block
                if isinstance(block, _Line):
                    text = Text(next(texts), block.style)
                    if block.indent is None:
                        shown = Rule(text, align="left", style="dim")
                    else:
                        shown = Padding(text, (0, 0, 0, block.indent))
                elif isinstance(block, _Rows):
                    table = _table(block.columns, islice(cells, len(block.rows)), "dim")
                    shown = Padding(table, (0, 0, 0, block.indent))
                console.print(shown)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
        sys.stdout.flush()

    def _more(self, many: int, indent: int) -> None:
        if many > 0:
            self.line(f"and {many} more (--json has them all)", indent=indent, style="dim")


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error, where that is a terminal; `total` of steps is None if unknown.

    Call what this yields after each step, with a number of steps, or with `to` and how much is done.
    """
    console = Console(stderr=True)
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *parts, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps=1, to=None: bar.advance(task, steps) if to is None else bar.update(task, completed=to)
