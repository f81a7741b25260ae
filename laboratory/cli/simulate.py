"""`validator simulate`: plays networks in memory on the real scoring versions; prints, and writes files where asked."""

import os
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs
from rich.console import Console
from rich.table import Table

from laboratory import study as studies
from laboratory.cli.from_history import past_rounds
from laboratory.history import History, Rescored, population_of_history
from laboratory.population import PopulationError, read_population, toml_of
from laboratory.report import COLUMNS, html_page, report_of
from laboratory.runs import play_all
from sssa.cli.errors import EXIT_NO
from sssa.cli.options import Json, group
from sssa.cli.output import print_json, print_line
from sssa.protocol.text import printable
from sssa.scoring import version

app = group()
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


@app.command()
def study(  # noqa: PLR0913, PLR0917 - one for each option
    folder: Annotated[
        Path, typer.Option(metavar="DIR", help="Keeps results; a study continues where it stopped.")
    ] = Path("study"),
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds: minutes instead of an hour.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="QUESTION", help="This question alone; again for more.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write tables into this page, and plots into pictures/ next to it."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, max=1_000, help="At most so many seeds of each question.")] = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Answer every question of docs/mechanism.md under 1.0.0 and 2.0.0, and compare with what 2.0.0 must show.

    Exit 1: something that it must show does not hold.
    """
    answers = studies.study(
        folder, studies.chosen(only or []), jobs or os.cpu_count() or 1, Console(stderr=True), quick=quick, most=seeds
    )
    if page is not None:
        studies.write_pictures(page.parent / "pictures", answers)
        write_page(page, studies.written(_page(page), answers))
    if as_json:
        print_json({one.question.name: studies.rows_of(one) for one in answers})
    else:
        studies.table(answers, print_line)
    if any(row[-1] not in {"", "yes"} for one in answers for row in studies.rows_of(one)):
        raise typer.Exit(EXIT_NO)


def _page(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise studies.StudyError(f"{path}: {error.strerror}; name the page, as docs/mechanism.md") from None


@app.command("from-history")
def from_history(
    log: Annotated[
        Path,
        typer.Argument(metavar="STORE", exists=True, dir_okay=False, help="The store's log: `validator audit export`."),
    ],
    scoring: Annotated[
        list[str] | None,
        typer.Option(metavar="VERSION", help="A version to pay under; again for more. 1.0.0 and 2.0.0."),
    ] = None,
    population: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a population like these miners, for `simulate run`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate skill, noise and likeness of the miners of stored rounds; show what versions would have paid them.

    Answers and groups stay as they were. A public export tells the truths of retired tasks alone: skills rest on those.
    """
    names = [version(name).name for name in scoring or studies.VERSIONS]
    history, paid = History(), {name: Rescored(name) for name in names}
    for past in past_rounds(log):
        history.add(past)
        for rescored in paid.values():
            rescored.add(past)
    estimates, weights = history.estimates(), {name: one.vector().weights for name, one in paid.items()}
    alike = sorted(history.alike().items(), key=lambda pair: -pair[1])
    if population is not None:
        twin = population_of_history(history, names[-1], max(1, history.rounds))
        write_page(population, toml_of(twin))
    if as_json:
        pairs = [{"pair": pair, "correlation": value} for pair, value in alike]
        print_json(
            {
                "rounds": history.rounds,
                "miners": estimates,
                "weights": weights,
                "kinds": history.rates(),
                "pairs": pairs,
            }
        )
        return
    table = Table("miner", "answers", "failed", "skill", "false alarms", *(f"pay {name}" for name in names))
    for hotkey, one in estimates.items():
        pays = (f"{weights[name].get(hotkey, 0.0):.4f}" for name in names)
        level = "-" if one.level is None else f"{one.level:.2f}"
        table.add_row(printable(hotkey), str(one.answers), str(one.failed), level, f"{one.alarms:.2f}", *pays)
    console = Console(highlight=False)
    console.print(table)
    for (first, other), value in alike[:5]:
        print_line(f"luck of {first} and {other}: correlation {value:.2f}")
