"""`make soak`: the local network at 20 times normal speed for an hour, its validator watched from outside.

Prints memory and how it grows, log and store per round, the event loop's lag, and what was warned of; the samples are
in FILE. Ends with 1 when something is broken, and says what.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from soak.site import SPEED, Site
from soak.soak_report import Report
from soak.watch import Watch, free_port

OUT = Path("soak.json")


def main() -> int:
    """Soak; return the exit code."""
    options = argparse.ArgumentParser(prog="soak", description=__doc__)
    options.add_argument("--seconds", type=float, default=3600.0, help="for how long; 3600")
    options.add_argument("--out", type=Path, default=OUT, metavar="FILE", help=f"figures and samples as JSON; {OUT}")
    options.add_argument("--keep", type=Path, metavar="FOLDER", help="keep store, log and settings in a new folder")
    chosen = options.parse_args()
    console = Console()
    if chosen.keep is not None:
        chosen.keep.mkdir(parents=True)
        return soaked(chosen.keep.resolve(), chosen.seconds, chosen.out, console)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        return soaked(Path(folder), chosen.seconds, chosen.out, console)


def soaked(folder: Path, seconds: float, out: Path, console: Console) -> int:
    """Soak in an empty folder, print and write the result of it; return the exit code."""
    site = Site(folder, free_port())
    site.write()
    watch = Watch(site, seconds, console)
    report = asyncio.run(watch.run())
    watch.write(out, report)
    show(report, console)
    console.print(f"Figures and samples: {out}", soft_wrap=True, highlight=False)
    return int(bool(report.broken))


def show(report: Report, console: Console) -> None:
    """Print the table, then what is broken."""
    table = Table(title=f"The local network at {SPEED} times normal speed", title_justify="left", box=None)
    table.add_column("")
    table.add_column("", overflow="fold")
    for name, value in report.figures.items():
        table.add_row(Text(name), Text(value))
    console.print(table)
    for one in report.broken:
        console.print(Text(f"broken: {one}", style="bold red"), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
