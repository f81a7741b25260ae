"""A page of text: headings, wrapped lines and small tables, as wide as the terminal and plain where there is none."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from validator.cli.output import cell
from validator.cli.tables import Column
from validator.protocol.text import printable

_LINE: Final = 2_000
_PLAIN_WIDTH: Final = 100
_WIDEST: Final = 120
_GAP: Final = 2
LISTED: Final = 20


class Page:
    """Collects what is to be read and writes it at once. Text from outside is made printable here.

    Args:
        width: columns; None for those of the terminal, at most 120, and 100 where there is no terminal.
    """

    def __init__(self, width: int | None = None) -> None:
        self._blocks: list[RenderableType] = []
        self._width = width

    def title(self, text: str) -> None:
        """Begin with a bold line."""
        self._text(text, "bold", 0)

    def section(self, text: str) -> None:
        """Leave a line blank and go on under a rule."""
        self.blank()
        self._blocks.append(Rule(Text(_safe(text), "bold"), align="left", style="dim"))

    def heading(self, text: str) -> None:
        """Leave a line blank and go on under a bold line."""
        self.blank()
        self._text(text, "bold", 0)

    def line(self, text: str, *, indent: int = 2, style: str = "") -> None:
        """Add a sentence; what is too long is wrapped under its own beginning."""
        self._text(text, style, indent)

    def blank(self) -> None:
        """Leave a line blank."""
        self._blocks.append(Text(""))

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[object]], *, indent: int = 2) -> None:
        """Add a table; columns that fold are wrapped where the page is too narrow."""
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_edge=False, header_style="dim")
        for column in columns:
            table.add_column(
                column.name,
                justify="right" if column.right else "left",
                overflow="fold",
                no_wrap=not column.fold,
            )
        for row in rows:
            table.add_row(*(Text(cell(value)) for value in row))
        self._blocks.append(Padding(table, (0, 0, 0, indent)))

    def things(self, label: str, things: Sequence[str], *, indent: int = 2) -> None:
        """Add a list with one line for each of the first 20; nothing where there is none."""
        if not things:
            return
        self.line(f"{label}:", indent=indent)
        for thing in things[:LISTED]:
            self.line(thing, indent=indent + 2)
        if len(things) > LISTED:
            self.line(f"and {len(things) - LISTED} more (--json has them all)", indent=indent + 2, style="dim")

    def write(self) -> None:
        """Write the page to standard output."""
        console = self._console()
        with console.capture() as capture:
            for block in self._blocks:
                console.print(block)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
        sys.stdout.flush()

    def _text(self, text: str, style: str, indent: int) -> None:
        self._blocks.append(Padding(Text(_safe(text), style), (0, 0, 0, indent)))

    def _console(self) -> Console:
        console = Console(markup=False, highlight=False, emoji=False)
        known = console.is_terminal or "COLUMNS" in os.environ
        console.width = self._width or (min(console.width, _WIDEST) if known else _PLAIN_WIDTH)
        return console


def _safe(text: str) -> str:
    return printable(text, _LINE)
