"""Run `make bench-growth`: three tables, and their pictures in docs/pictures. Some minutes.

The steepness of a figure is that of its curve between its two largest sizes: 1 is linear, 0 does not grow.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log
from pathlib import Path
from typing import Final

from growth.drawing import drawing
from growth.measures import by_days, by_findings, by_miners

PICTURES: Final = Path(__file__).parents[2] / "docs" / "pictures"
Measured = list[tuple[int, dict[str, float]]]


def main(pictures: Path) -> None:
    """Measure all of it, print the tables, write the pictures into the folder."""
    for name, across, measure, sizes in _plan():
        measured = list(_told(measure(sizes)))
        print(table(across, measured), end="\n\n")
        curves = {what: [(size, found[what]) for size, found in measured] for what in measured[0][1]}
        (pictures / f"growth-{name}.svg").write_text(drawing(f"By {across}", across, curves))


def table(across: str, measured: Measured) -> str:
    """Return the figures as a table of Markdown, a row for each."""
    sizes = [f"{size:,}" for size, _ in measured]
    lines = [(across, *sizes, "steepness"), ("---",) * (len(sizes) + 2)]
    for what in measured[0][1]:
        figures = [found[what] for _, found in measured]
        lines.append((what, *(f"{figure:,.3g}" for figure in figures), f"{steepness(measured, what):.2f}"))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def steepness(measured: Measured, what: str) -> float:
    """Return the power with which a figure grows between the two largest sizes."""
    (before, low), (size, high) = measured[-2:]
    return log(high[what] / low[what]) / log(size / before)


def _plan() -> Iterator[tuple[str, str, Callable[[Sequence[int]], Iterable[tuple[int, dict[str, float]]]], list[int]]]:
    yield "miners", "miners", by_miners, _sizes("MINERS", "64,256,1024,4096")
    yield "findings", "findings of an answer", by_findings, _sizes("FINDINGS", "5,20,50,100,200,500")
    yield "days", "days of rounds", by_days, _sizes("DAYS", "1,7,30")


def _sizes(name: str, usual: str) -> list[int]:
    return [int(size) for size in os.environ.get(name, usual).split(",")]


def _told(measured: Iterable[tuple[int, dict[str, float]]]) -> Iterator[tuple[int, dict[str, float]]]:
    for size, found in measured:
        print(size, found, file=sys.stderr)
        yield size, found


if __name__ == "__main__":
    main(PICTURES)
