"""Writer of the figures into the tables of docs/reference-miner.md, each below the comment that names it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from real_skills.figures import ROOT, Figures
from real_skills.recall import Measured, Row, rows

PAGE: Final = ROOT / "docs" / "reference-miner.md"
NONE: Final = "–"
_RULES: Final = re.compile(r"^\| rules \| digest `([0-9a-f]{16})` (.*) \|$", re.MULTILINE)
_COUNTED: Final = ("planted", "found", "recall", "findings", "had before", "precision")


def tables(figures: Figures) -> dict[str, list[list[str]]]:
    """Return the tables of a run by name, the heading of each first."""
    made = {
        "real skills, analysers": _analysers(figures),
        "real skills, categories": _categories(figures.measured),
    }
    if figures.network is not None:
        made["real skills, network"] = _network(figures)
    return {"real skills": _run(figures), **made}


def replaced(page: str, made: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """Return the page with these tables in place of those that are below the comments with their names.

    Raises:
        ValueError: the page has no comment of a name.
    """
    for name, lines in made.items():
        head, mark, rest = page.partition(f"<!-- table: {name} -->\n\n")
        if not mark:
            raise ValueError(f"the page has no `<!-- table: {name} -->` with an empty line behind it")
        while rest.startswith("|"):
            rest = rest.partition("\n")[2]
        page = head + mark + "".join(f"{line}\n" for line in _markdown(lines)) + rest
    return page


def rules_on_page(page: str) -> tuple[str, bool] | None:
    """Return the digest of the rules that the page's figures are of, and whether it says that they are older ones.

    None where the page has no figures yet.
    """
    match = _RULES.search(page)
    return None if match is None else (match[1], match[2].endswith("older than the code"))


def share(value: float | None) -> str:
    """Return a share with two decimals."""
    return NONE if value is None else f"{value:.2f}"


def _markdown(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    for number, cells in enumerate(lines):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
        if number == 0:
            yield "|---" * len(cells) + "|"


def _run(figures: Figures) -> list[list[str]]:
    rules, network = figures.rules, figures.network
    lines = [
        ["what", "value"],
        ["rules", f"digest `{rules.digest}` of miner/analysis.py and miner/scanners, commit `{rules.commit}`"],
        ["measured", rules.measured],
        ["seed", f"`{figures.seed}`"],
        ["packages", str(len(figures.packages))],
        ["tasks", str(sum(one.tasks for one in figures.packages))],
        ["planted faults", str(sum(one.planted for one in figures.packages))],
    ]
    if network is not None:
        lines.append(["rounds of the network", f"{network.rounds}, {network.settled} of them settled"])
        lines.append(["tasks that miners got in them", f"{network.given}; {network.separating} tell miners apart"])
    return lines


def _analysers(figures: Figures) -> list[list[str]]:
    head = ["analyser", "shapes", *_COUNTED, "without a fault", "precision with those", "children judged"]
    return [
        head,
        *(
            [one.analyser, one.shapes, *_cells(one.row), str(one.alone), share(one.with_alone), str(one.follow)]
            for one in figures.analysers
        ),
    ]


def _categories(measured: Mapping[str, Measured]) -> list[list[str]]:
    lines = [["category", "shapes", *_COUNTED]]
    for shapes, one in measured.items():
        for row in rows(one, "category"):
            name = f"`{row.name}`" if row.name != "all" else row.name
            lines.append([name, shapes, *_cells(row)])
    return lines


def _network(figures: Figures) -> list[list[str]]:
    lines = [["miner", "behaviour", "answers", "found", "recall", "weight"]]
    for one in figures.network.finders if figures.network else ():
        hits = f"{one.hits} of {one.planted}"
        recall = share(one.hits / one.planted if one.planted else None)
        lines.append([one.name, f"`{one.behaviour}`", str(one.answers), hits, recall, f"{one.weight:.3f}"])
    return lines


def _cells(row: Row) -> list[str]:
    counts = (str(row.planted), str(row.hits), share(row.recall))
    return [*counts, str(row.named + row.false), str(row.before), share(row.precision)]
