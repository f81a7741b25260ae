"""Cost of the reference miner's analyses, bundle by bundle, for the demo's last table. Touches the terminal alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from miner.analysis_pool import Spent
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared

_MADE: Final = "(canaries)"  # each is made for one round alone


@dataclass(slots=True)
class Marked:
    """Listens to rounds, and gives bundles that carry a round's marker the names of those that they were made of.

    Attributes:
        names: of bundles, by sha256.
    """

    names: dict[str, str]

    def started(self, prepared: Prepared) -> None:
        """Name the round's bundles."""
        for task in prepared.frozen.tasks:
            if (name := self.names.get(task.source_sha256)) is not None:
                self.names[task.bundle_sha256] = name

    def ended(self, end: EndedRound) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class BundleEffort:
    """Cost of analyzing one bundle.

    Attributes:
        bundle: its name; one line stands for all that is made for one round alone.
        skill_type: what it was dispatched as.
        analyses: how many were made; all miners share one.
        median_s, most_s: seconds of processor time of one.
    """

    bundle: str
    skill_type: str
    analyses: int
    median_s: float
    most_s: float


def effort_of(spent: Iterable[Spent], names: Mapping[str, str]) -> tuple[BundleEffort, ...]:
    """Return the cost per bundle and type, the dearest first.

    Args:
        spent: the analyses.
        names: of bundles, by sha256.
    """
    seconds: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for one in spent:
        seconds[names.get(one.sha256, _MADE), one.skill_type].append(one.seconds)
    rows = [BundleEffort(*key, len(times), median(times), max(times)) for key, times in seconds.items()]
    return tuple(sorted(rows, key=lambda row: (-row.most_s, row.bundle, row.skill_type)))


def print_effort(rows: Sequence[BundleEffort], console: Console) -> None:
    """Print what an analysis of each bundle costs."""
    table = Table(title="\nSeconds per analysis", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in ("bundle", "type", "analyses", "median", "most"):
        table.add_column(column, justify="left" if column in ("bundle", "type") else "right")
    for row in rows:
        numbers = (str(row.analyses), f"{row.median_s:.2f}", f"{row.most_s:.2f}")
        table.add_row(*(Text(cell) for cell in (row.bundle, row.skill_type, *numbers)))
    console.print(table)
