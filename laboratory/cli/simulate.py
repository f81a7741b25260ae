"""`validator simulate`: networks without I/O on the real scoring versions."""

import os
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs
from rich.console import Console
from rich.table import Table

from laboratory.population import PopulationError, read_population
from laboratory.report import COLUMNS, html_page, report_of
from laboratory.runs import play_all
from validator.cli.options import Json, group
from validator.cli.output import print_json
from validator.protocol.text import printable
from validator.scoring import version

app = group("simulate", "Networks without I/O, on the real plan, score, step and weights of a scoring version.")
Jobs = Annotated[
    int | None, typer.Option(min=1, max=64, help="Processes; else one per processor. They change no result.")
]


@app.command()
def run(  # noqa: PLR0913, PLR0917 - one for each option
    population: Annotated[Path, typer.Argument(metavar="POPULATION.toml", help="Who takes part (docs/mechanism.md).")],
    scoring: Annotated[
        str | None, typer.Option(metavar="VERSION", help="The scoring version; else that of the file.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The first seed; else that of the file.")] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1_000, help="How many seeds, from the first on.")] = 1,
    rounds: Annotated[int | None, typer.Option(min=1, max=100_000, help="Rounds; else those of the file.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one page with plots, too.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Play a population, and print what every group was paid: means and 95% intervals over the seeds."""
    read = read_population(population)
    if scoring is not None:
        read = structs.replace(read, version=version(scoring).name)
    read = structs.replace(read, rounds=rounds or read.rounds, seed=read.seed if seed is None else seed)
    played = [structs.replace(read, seed=read.seed + number) for number in range(seeds)]
    report = report_of(read, play_all(played, jobs or os.cpu_count() or 1, Console(stderr=True)))
    if html is not None:
        write_page(html, html_page(report, population.stem))
    if as_json:
        print_json(report.document())
        return
    table = Table(*COLUMNS, title=printable(f"{population.stem}: {read.version}, {read.rounds} rounds"))
    for row in report.rows:
        table.add_row(*map(printable, row.cells()))
    console = Console(highlight=False)
    console.print(table)
    for name, value in report.facts.items():
        console.print(f"{name}: {value}", soft_wrap=True)


def write_page(path: Path, text: str) -> None:
    """Write a page (PopulationError: the place cannot be written)."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PopulationError(f"{path}: {error.strerror}; name a file that can be written") from None
