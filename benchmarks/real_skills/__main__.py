"""`python -m real_skills`: real packages, pinned by hash, with planted faults: what is found of them, and by whom.

Packs and drafts the packages of packages.json, plants faults in them, measures analysers, and runs a network over the
tasks; writes the tables of docs/reference-miner.md. Ends with 1 where the reference miner finds too little of the
first shapes, or has too many false alarms, and with 2 where a step fails.
"""

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from real_skills.bases import MANIFEST, RefusedError, bases
from real_skills.figures import PRECISION, RECALL, ROOT, Figures, measure, rules, sow, write_sown
from real_skills.network_run import PACE, network
from real_skills.page import PAGE, replaced, tables
from real_skills.shape_files import later_shapes
from sssa.cli.rendering import progress
from sssa.protocol.errors import ValidatorError
from sssa.protocol.text import printable
from taskmaker.planting.planting import Shape
from taskmaker.planting.shapes import builtin_shapes
from validator.tasks.package_manifest import read_packages

SEED: Final = "real skills 1"
WORK: Final = ROOT / "build" / "real-skills"
_WIDE: Final = 170  # columns of the widest table: a narrower terminal breaks its lines


def main() -> int:
    """Do all of it; return the exit code."""
    chosen = _chosen()
    console = Console(highlight=False)
    console.width = max(console.width, _WIDE)
    first, later = _shapes()
    try:
        figures = run(chosen, {"first": first, "later": later})
    except (RefusedError, ValidatorError) as refused:
        Console(stderr=True, highlight=False).print(Text(printable(str(refused), 1_000)), soft_wrap=True)
        return 2
    made = tables(figures)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_bytes(msgspec.json.format(msgspec.json.encode(document(figures))) + b"\n")
    for name, lines in made.items():
        console.print(_table(name, lines))
    whole = figures.network is not None and not chosen.only
    if chosen.page and whole:
        PAGE.write_text(replaced(PAGE.read_text(), made))
    where = f"; tables: {PAGE.relative_to(ROOT)}" if chosen.page and whole else ""
    console.print(Text(f"Figures: {chosen.out}{where}"), soft_wrap=True)
    if not figures.enough:
        console.print(f"below a recall of {RECALL} or a precision of {PRECISION} on the first shapes")
    return int(not figures.enough)


def run(chosen: argparse.Namespace, shapes: Mapping[str, Sequence[Shape]]) -> Figures:
    """Return the figures of a run.

    Raises:
        RefusedError, ValidatorError: a step failed.
    """
    measured_now = rules()  # of the files that were loaded, whatever happens to them meanwhile
    work: Path = chosen.work.resolve()
    only = frozenset(chosen.only)
    with progress("packing and drafting", len(only) or len(read_packages(MANIFEST).packages)) as step:
        skills = bases(work, only, step)
    sown = sow(skills, SEED, {"first": chosen.count, "later": (chosen.count + 1) // 2}, shapes)
    tasks = work / "tasks"
    shutil.rmtree(tasks, ignore_errors=True)
    write_sown(sown, tasks)
    with progress("measuring", len(sown)) as step:
        packages, by_analyser, measured = measure(sown, skills, step)
    finders = network(work, tasks, chosen.rounds, chosen.pace) if chosen.rounds else None
    return Figures(measured_now, SEED, packages, by_analyser, measured, finders)


def document(figures: Figures) -> dict[str, Any]:
    """Return the figures for JSON: every planted fault with whether it was found, and every finding next to them."""
    return {
        "rules": figures.rules._asdict(),
        "seed": figures.seed,
        "enough": figures.enough,
        "packages": [one._asdict() for one in figures.packages],
        "analysers": [
            {
                **one._asdict(),
                "row": one.row._asdict(),
                "recall": one.row.recall,
                "precision": one.row.precision,
                "precision_with_alone": one.with_alone,
            }
            for one in figures.analysers
        ],
        "reference": {
            shapes: {
                "faults": [one._asdict() for one in measured.seen],
                "unplanted_findings": [one._asdict() for one in measured.unplanted_findings],
                "follow": measured.follow,
            }
            for shapes, measured in figures.measured.items()
        },
        "network": figures.network
        and {
            **figures.network._asdict(),
            "finders": [one._asdict() for one in figures.network.finders],
        },
    }


def _shapes() -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return the shapes that were there before the rules were frozen, and those that were written later."""
    return builtin_shapes(), later_shapes()


def _chosen() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="real_skills", description=__doc__)
    options.add_argument("--only", action="append", default=[], metavar="NAME", help="this package; again for more")
    options.add_argument("--count", type=int, default=8, help="tasks of a package, and half as many of later shapes; 8")
    options.add_argument("--rounds", type=int, default=30, help="of the network, 0 for none; 30")
    options.add_argument("--pace", type=float, default=PACE, help=f"of the network; {PACE:g}")
    options.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="for packages, tasks and the store")
    options.add_argument("--out", type=Path, default=WORK / "figures.json", metavar="FILE", help="figures as JSON")
    options.add_argument(
        "--no-page",
        dest="page",
        action="store_false",
        help="leave docs/reference-miner.md as it is, as --only and --rounds 0 do",
    )
    chosen = options.parse_args()
    if chosen.count < 1 or chosen.rounds < 0 or chosen.pace < 1:
        options.error("--count and --pace are 1 or more, --rounds 0 or more")
    return chosen


def _table(name: str, lines: Sequence[Sequence[str]]) -> Table:
    table = Table(title=f"\n{name}", title_justify="left", box=None)
    for heading in lines[0]:
        table.add_column(heading, overflow="fold")
    for cells in lines[1:]:
        table.add_row(*map(Text, cells))
    return table


if __name__ == "__main__":
    sys.exit(main())
