"""Plain text tables."""

from collections.abc import Sequence


def as_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows in columns, numbers to the right."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "".join(
        line[0].ljust(widths[0]) + "  " + line[1].rjust(widths[1]) + "\n"
        for line in lines
    )
