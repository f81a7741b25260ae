"""The figures as tables of docs/reference-miner.md, each below the comment that names it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from real_skills.figures import ROOT, Figures
from real_skills.measured import Measured, Row, rows, shares

PAGE: Final = ROOT / "docs" / "reference-miner.md"
NONE: Final = "–"
_RULES: Final = re.compile(r"^\| rules \| digest `([0-9a-f]{16})` (.*) \|$", re.MULTILINE)
_LEVELS: Final = ("easy", "medium", "hard")
_COUNTED: Final = ("planted", "found", "recall", "findings", "had before", "precision")


def tables(figures: Figures, difficulty: Mapping[str, str]) -> dict[str, list[list[str]]]:
    """Return the tables by name, the heading of each first.

    Args:
        figures: of a run.
        difficulty: of a shape, by the kind that it has in a truth.
    """
    made = {
        "real skills, packages": _packages(figures),
        "real skills, analysers": _analysers(figures),
        "real skills, categories": _counted("category", figures.measured),
        "real skills, languages": _counted("language", figures.measured),
        "real skills, families": _families(figures.measured, difficulty),
    }
    if figures.network is not None:
        made["real skills, network"] = _network(figures)
    return {"real skills": _run(figures), **made}


def replaced(page: str, made: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """Return the page with these tables in place of those that stand below the comments with their names.

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


def rules_told(page: str) -> tuple[str, bool] | None:
    """Return the digest of the rules that the page's figures are of, and whether it says that they are older ones.

    None where the page has no figures yet.
    """
    found = _RULES.search(page)
    return None if found is None else (found[1], found[2].endswith("older than the code"))


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


def _packages(figures: Figures) -> list[list[str]]:
    head = ["package", "type", "files", "fields that its draft leaves to a person", "tasks", "planted", "found"]
    lines = [[*head, "findings without a fault", "seconds per analysis"]]
    for one in figures.packages:
        counts = (one.files, one.to_decide, one.tasks, one.planted, one.found, one.alone)
        lines.append([f"`{one.source}`", f"`{one.skill_type}`", *map(str, counts), f"{one.seconds:.2f}"])
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


def _counted(by: str, measured: Mapping[str, Measured]) -> list[list[str]]:
    lines = [[by, "shapes", *_COUNTED]]
    for shapes, one in measured.items():
        for row in rows(one, by):
            name = f"`{row.name}`" if by == "category" and row.name != "all" else row.name
            lines.append([name, shapes, *_cells(row)])
    return lines


def _families(measured: Mapping[str, Measured], difficulty: Mapping[str, str]) -> list[list[str]]:
    lines = [["family", "shapes", *_LEVELS, "all"]]
    for shapes, one in measured.items():
        families = sorted({seen.fault.kind.partition("/")[0] for seen in one.seen})
        by = shares(one.seen, lambda seen: f"{seen.fault.kind.partition('/')[0]} {difficulty[seen.fault.kind]}")
        for family in families:
            parts = [by.get(f"{family} {level}", (0, 0)) for level in _LEVELS]
            lines.append([f"`{family}`", shapes, *map(_of, [*parts, _sum(parts)])])
        levels = [_sum(by.get(f"{family} {level}", (0, 0)) for family in families) for level in _LEVELS]
        lines.append(["all", shapes, *map(_of, [*levels, _sum(levels)])])
    return lines


def _network(figures: Figures) -> list[list[str]]:
    lines = [["miner", "behaviour", "answers", "found", "recall", "weight"]]
    for one in figures.network.finders if figures.network else ():
        found = f"{one.found} of {one.planted}"
        recall = share(one.found / one.planted if one.planted else None)
        lines.append([one.name, f"`{one.behaviour}`", str(one.answers), found, recall, f"{one.weight:.3f}"])
    return lines


def _cells(row: Row) -> list[str]:
    counts = (str(row.planted), str(row.found), share(row.recall))
    return [*counts, str(row.named + row.false), str(row.before), share(row.precision)]


def _sum(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    found, planted = 0, 0
    for one in parts:
        found, planted = found + one[0], planted + one[1]
    return found, planted


def _of(part: tuple[int, int]) -> str:
    found, planted = part
    return f"{found} of {planted}" if planted else NONE
