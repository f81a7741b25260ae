"""A study: every question at every version and seed. Writes results and plots to a folder, and continues from it."""

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from rich.console import Console

from laboratory.plots import Curve, plot
from laboratory.population import Population
from laboratory.questions import QUESTIONS, Question
from laboratory.results import Estimate, Result, estimate
from laboratory.runs import play_all
from sssa.protocol.errors import ValidatorError

VERSIONS: Final = ("1.0.0", "2.0.0")


class StudyError(ValidatorError):
    """The study cannot be made."""


class Kept(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of the folder: the results of a question, a version and a seed, and a digest of what was played."""

    played: str
    results: dict[str, Result]


class Cell(NamedTuple):
    """A question at one version and seed."""

    question: Question
    version: str
    seed: int

    @property
    def populations(self) -> dict[str, Population]:
        """Its networks."""
        return self.question.populations(self.version, self.seed)

    def digest(self) -> str:
        """Return what names exactly these networks."""
        return hashlib.sha256(msgspec.json.encode(self.populations, order="deterministic")).hexdigest()[:16]

    def path(self, folder: Path) -> Path:
        """Return the file of its results."""
        return folder / self.question.name / f"{self.version}-{self.seed}.json"

    def kept(self, folder: Path) -> dict[str, Result] | None:
        """Return results that exist; None where there are none of these networks."""
        try:
            kept = msgspec.json.decode(self.path(folder).read_bytes(), type=Kept)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return kept.results if kept.played == self.digest() else None


class Answered(NamedTuple):
    """A question with its results: version to those of every seed."""

    question: Question
    results: Mapping[str, Sequence[Mapping[str, Result]]]


def cells_of(questions: Sequence[Question], *, quick: bool, most: int | None = None) -> list[Cell]:
    """Return what is to be played, seed by seed; of each question at most so many seeds."""
    return [
        Cell(question, version, seed)
        for seed in range(1, max(question.seeds[quick] for question in questions) + 1)
        for question in questions
        for version in VERSIONS
        if seed <= min(question.seeds[quick], most or seed)
    ]


def chosen(names: Sequence[str]) -> list[Question]:
    """Return the questions of these names, all of them without names (StudyError: there is no such question)."""
    known = {one.name: one for one in QUESTIONS}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise StudyError(f"no question is named {unknown}; write one of {', '.join(known)}")
    return [known[name] for name in names] or list(QUESTIONS)


def study(  # noqa: PLR0913 - where, what, and how much of it
    folder: Path,
    questions: Sequence[Question],
    jobs: int,
    console: Console,
    *,
    quick: bool,
    most: int | None = None,
) -> list[Answered]:
    """Play what is missing in the folder, and return all answers.

    Raises:
        StudyError: the folder cannot be written.
    """
    cells = cells_of(questions, quick=quick, most=most)
    results = {cell.path(folder): cell.kept(folder) for cell in cells}
    missing = [cell for cell in cells if results[cell.path(folder)] is None]
    jobs_to_do = [(cell, label, one) for cell in missing for label, one in cell.populations.items()]
    partial: dict[Path, dict[str, Result]] = {}

    def keep(place: int, result: Result) -> None:
        cell, label, _ = jobs_to_do[place]
        path = cell.path(folder)
        ended = partial.setdefault(path, {})
        ended[label] = result
        if len(ended) == len(cell.question.networks):
            ordered = {name: ended[name] for name in cell.question.networks}
            _write(path, msgspec.json.encode(Kept(cell.digest(), ordered)))
            results[path] = ordered

    if jobs_to_do:
        play_all([one for _, _, one in jobs_to_do], jobs, console, keep)
    return [
        Answered(
            question,
            {
                version: [
                    result
                    for cell in cells
                    if cell.question is question and cell.version == version
                    if (result := results[cell.path(folder)]) is not None
                ]
                for version in VERSIONS
            },
        )
        for question in questions
    ]


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all (StudyError: it cannot be written)."""
    unfinished = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}; name a folder that can be written") from None


def shown(values: Sequence[float]) -> str:
    """Return mean and interval of values; of infinite ones how many there are."""
    finite = [one for one in values if math.isfinite(one)]
    endless = len(values) - len(finite)
    if not finite:
        return "never"
    return str(estimate(finite)) + (f" (never in {endless} of {len(values)})" if endless else "")


def rows_of(answered: Answered) -> list[tuple[str, ...]]:
    """Return the rows of a question's table: measure, a column for each version, what it must show, whether it does."""
    rows = []
    for measure in answered.question.measures:
        values = {version: [measure.of(one) for one in seeds] for version, seeds in answered.results.items()}
        bound, verdict = "", ""
        if measure.bound is not None:
            bounded = values[measure.bound.version]
            version = "" if measure.bound.version == VERSIONS[-1] else f" under {measure.bound.version}"
            bound = f"{measure.bound.side} {measure.bound.value:g}{version}"
            verdict = "yes" if measure.bound.holds(math.fsum(bounded) / len(bounded)) else "**no**"
        columns = [shown(values[version]) for version in VERSIONS]
        rows.append((measure.name, *columns, bound, verdict))
    return rows


def picture(answered: Answered) -> str | None:
    """Return the plot of a question as SVG; None where it has none."""
    question = answered.question
    if not question.lines:
        return None
    curves = []
    for version, seeds in answered.results.items():
        for line in question.lines:
            rounds = seeds[0][line.network].rounds
            points = []
            for number in rounds:
                values = [line.of(one[line.network], number) for one in seeds]
                if all(map(math.isfinite, values)):
                    of_round: Estimate = estimate(values)
                    points.append((number, of_round.mean, of_round.half))
            curves.append(Curve(f"{version}, {line.name}", points))
    return plot(question.axis, "rounds", [one for one in curves if one.points], question.bound)


def section(answered: Answered, pictures: str) -> Iterator[str]:
    """Yield the lines of a question in a page: its table, and a link to its plot below `pictures`."""
    head = (f"means over {len(answered.results[VERSIONS[-1]])} seeds", *VERSIONS, "must show", "holds")
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows_of(answered):
        yield f"| {' | '.join(row)} |"
    if answered.question.lines:
        yield ""
        yield f"![{answered.question.axis}]({pictures}/mechanism-{answered.question.name}.svg)"


def written(page: str, answers: Sequence[Answered], pictures: str = "pictures") -> str:
    """Return a page with the sections of these questions put between their marks (StudyError: a mark is missing)."""
    for one in answers:
        name = one.question.name
        begin, end = f"<!-- study: {name} -->", f"<!-- end: {name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(page):
            raise StudyError(f"the page has no `{begin}` … `{end}`; add both lines")
        text = "\n".join((begin, *section(one, pictures), end))
        page = pattern.sub(text.replace("\\", r"\\"), page)
    return page


def table(answers: Sequence[Answered], line: Callable[[str], None]) -> None:
    """Print every question with its rows."""
    for one in answers:
        line(f"{one.question.name}: {one.question.title}")
        for name, *columns in rows_of(one):
            line("  " + " | ".join((name, *columns)))


def write_pictures(folder: Path, answers: Sequence[Answered]) -> None:
    """Write the plots (StudyError: the folder cannot be written)."""
    for one in answers:
        drawn = picture(one)
        if drawn is not None:
            _write(folder / f"mechanism-{one.question.name}.svg", drawn.encode())
