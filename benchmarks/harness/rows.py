"""Output of figures: `bench.json`, which holds the newest run of each case, and a table."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from harness.case import Case, Row

_HEADINGS: Final = ("benchmark", "case", "median", "min – max", "floor", "ratio", "demand")


def update(file: Path, rows: Iterable[Row]) -> None:
    """Put the rows into the file in place of older ones of the same cases; the others stay."""
    kept = msgspec.json.decode(file.read_bytes(), type=list[Row]) if file.exists() else []
    all_of_them = {(row.name, row.case): row for row in [*kept, *rows]}
    file.write_bytes(msgspec.json.format(msgspec.json.encode(list(all_of_them.values()))) + b"\n")


def table(measured: Sequence[tuple[Case, Row]]) -> str:
    """Return the rows as a table of Markdown."""
    lines = [_HEADINGS, ("---",) * len(_HEADINGS), *(_line(case, row) for case, row in measured)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _line(case: Case, row: Row) -> tuple[str, ...]:
    floor = "" if row.floor is None else f"{_figure(row.floor)} ({case.floor_is})"
    return (
        row.name,
        row.case,
        f"{_figure(row.value)} {row.unit}",
        f"{_figure(row.min)} – {_figure(row.max)}",
        floor,
        "" if row.ratio is None else f"{row.ratio:.3g}",
        case.demand,
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits are what is known
