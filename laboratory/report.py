"""Runs of one population over seeds as rows of a table, a JSON document and an HTML page; the caller writes them."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final, NamedTuple

from laboratory.plots import Curve, plot
from laboratory.population import Population
from laboratory.results import Estimate, Result, estimate, median, rank_correlation

COLUMNS: Final = ("group", "behaviour", "miners", "part of the pay", "per honest pay", "work", "pay per work")


class Row(NamedTuple):
    """A group of miners over all seeds.

    Attributes:
        group, behaviour, miners: which.
        part: of the last three vectors, all of them together.
        each: mean pay of one, in mean pays of an honest miner; None without honest ones.
        work: analyses that one made, as part of those of an honest miner.
        per_work: pay of one per analysis, in those of an honest miner; None without work.
    """

    group: str
    behaviour: str
    miners: int
    part: Estimate
    each: Estimate | None
    work: Estimate | None
    per_work: Estimate | None

    def cells(self) -> tuple[str, ...]:
        """Return what a table shows."""
        values = (self.part, self.each, self.work, self.per_work)
        return (self.group, self.behaviour, str(self.miners), *("-" if one is None else str(one) for one in values))


class Report(NamedTuple):
    """A population over its seeds.

    Attributes:
        population: that was played.
        results: of each seed.
        rows: of its groups.
        facts: name to estimate: rank correlation of skill and pay, and what else there is.
        correlation: round to the rank correlation.
    """

    population: Population
    results: Sequence[Result]
    rows: Sequence[Row]
    facts: dict[str, Estimate]
    correlation: Sequence[tuple[int, Estimate]]

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "version": self.population.version,
            "rounds": self.population.rounds,
            "seeds": [one.seed for one in self.results],
            "groups": self.rows,
            "facts": self.facts,
            "correlation": self.correlation,
            "miners": {one.seed: one.miners for one in self.results},
        }


def report_of(population: Population, results: Sequence[Result]) -> Report:
    """Return the summary of a population's runs."""
    rows = [
        _row(
            group.name,
            group.behaviour,
            [_shares(one, group.name, len(one.rounds) - 1, 3) for one in results],
            group.count,
        )
        for group in population.miners
    ]
    facts: dict[str, Estimate] = {}
    honest = [player for player in population.members if player.group.behaviour == "honest"]
    graded = len({player.level for player in honest}) > 1
    correlation = []
    if graded:
        correlation = [(number, estimate([correlated(one, number) for one in results])) for number in results[0].rounds]
        facts["rank correlation of skill and pay"] = correlation[-1][1]
    elif len(honest) > 1:
        facts["largest to smallest pay among honest miners"] = estimate([spread_of(one) for one in results])
    if results[0].spread is not None:
        facts["spread of a miner's pay between validators"] = estimate([one.spread or 0.0 for one in results])
    return Report(population, results, rows, facts, correlation)


class _Shares(NamedTuple):
    part: float
    each: float | None
    work: float | None
    per_work: float | None


def _row(name: str, behaviour: str, shares: Sequence[_Shares], count: int) -> Row:
    def over(values: Sequence[float | None]) -> Estimate | None:
        known = [one for one in values if one is not None]
        return estimate(known) if known else None

    return Row(
        name,
        behaviour,
        count,
        estimate([one.part for one in shares]),
        over([one.each for one in shares]),
        over([one.work for one in shares]),
        over([one.per_work for one in shares]),
    )


def _shares(result: Result, group: str, place: int, vectors: int = 1) -> _Shares:
    members, honest = result.of(group), result.of()
    pay, base = (
        _mean([_mean(one.pay[max(0, place + 1 - vectors) : place + 1]) for one in some]) for some in (members, honest)
    )
    work, norm = _mean([one.work for one in members]), _mean([one.work for one in honest])
    each, effort = pay / base if base else None, work / norm if norm else None
    return _Shares(pay * len(members), each, effort, each / effort if each is not None and effort else None)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def correlated(result: Result, round_number: int) -> float:
    """Return the rank correlation of skill and pay of the honest miners at a round."""
    place, honest = result.at(round_number), result.of()
    return rank_correlation([one.level for one in honest], [one.pay[place] for one in honest])


def spread_of(result: Result, round_number: int = 1 << 30) -> float:
    """Return the largest pay of an honest miner through the smallest; infinite where somebody has none."""
    pays = [one.pay[result.at(round_number)] for one in result.of()]
    return max(pays) / min(pays) if min(pays) else math.inf


def honest_pays(result: Result, group: str, round_number: int = 1 << 30, within: float = 1.0) -> float:
    """Return the pay of a group together, in mean pays of honest miners whose skill is `within` so much of theirs."""
    place, members = result.at(round_number), result.of(group)
    base = _mean([one.pay[place] for one in result.of() if abs(one.level - members[0].level) <= within])
    return math.fsum(one.pay[place] for one in members) / base if base else math.inf


def part_of(result: Result, group: str, round_number: int = 1 << 30) -> float:
    """Return the part of the pay that a group has."""
    return math.fsum(one.pay[result.at(round_number)] for one in result.of(group))


def caught_up(result: Result, group: str, arrives: int) -> float:
    """Return how many rounds after its arrival a miner first has half of the median pay; infinite: never."""
    pays = result.of(group)[0].pay
    for place, number in enumerate(result.rounds):
        if number > arrives and pays[place] >= median(one.pay[place] for one in result.of()) / 2:
            return number - arrives
    return math.inf


_STYLE: Final = (
    "body{font:14px/1.5 sans-serif;max-width:60em;margin:2em auto;color:#111827}table{border-collapse:collapse}"
    "td,th{border:1px solid #d1d5db;padding:.2em .6em;text-align:right}td:first-child,th:first-child{text-align:left}"
    "svg{max-width:100%;display:block;margin:1em 0}"
)


def html_page(report: Report, title: str) -> str:
    """Return the report as one page: nothing in it is fetched, every text is escaped."""
    population = report.population
    seeds = f"{len(report.results)} seed{'s' if len(report.results) > 1 else ''}"
    head = f"Version {population.version}, {population.rounds} rounds, {len(population.members)} miners, {seeds}."
    facts = [(name, str(value)) for name, value in report.facts.items()]
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(head)}</p>",
        _table(COLUMNS, [row.cells() for row in report.rows]),
        "<h2>Facts</h2>" + _table(("fact", "mean ± 95%"), facts) if facts else "",
        *pictures(report),
        "<h2>Miners</h2>",
        _table(("miner", "skill", "dispatches", "work", "pay", "flags"), _miners(report.results)),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def pictures(report: Report) -> list[str]:
    """Return the plots of a report."""
    rounds = report.results[0].rounds
    curves = []
    for group in report.population.miners:
        of_rounds = [
            (number, estimate([_shares(one, group.name, place).each or 0.0 for one in report.results]))
            for place, number in enumerate(rounds)
        ]
        curves.append(Curve(group.name, [(number, one.mean, one.half) for number, one in of_rounds]))
    drawn = [plot("Pay of one miner, in pays of an honest one", "rounds", curves, 1.0)]
    if report.correlation:
        points = [(number, one.mean, one.half) for number, one in report.correlation]
        drawn.append(plot("Rank correlation of skill and pay", "rounds", [Curve("honest miners", points)]))
    return drawn


def _miners(results: Sequence[Result]) -> list[tuple[str, ...]]:
    return [
        (
            first.name,
            f"{first.level:.2f}",
            *(str(estimate([getattr(one.miners[place], name) for one in results])) for name in ("dispatches", "work")),
            str(estimate([one.miners[place].pay[-1] for one in results])),
            str(estimate([one.miners[place].flags for one in results])),
        )
        for place, first in enumerate(results[0].miners)
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(one)}</th>" for one in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(one)}</td>" for one in row) + "</tr>" for row in rows)
    return f"<table><tr>{cells}</tr>{body}</table>"
