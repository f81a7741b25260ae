"""Report on an owner's tasks: plain values, as `--json` prints them, and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.own.ledger import OwnAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType
from sssa.protocol.text import printable

Why = Literal[
    "separates", "by_group", "upside_down",
    "equal", "speed", "late", "failed", "too_few", "truth_missing", "unjudged", "nobody", "not_given",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MinerOnTask:
    """Results of one miner on one task; means are over passed answers with a value, None without any.

    Attributes:
        dispatches: how often it got the task.
        passed: how many of its answers passed the gates.
        mean_score: quality times consensus.
    """

    hotkey: str
    name: str
    behaviour: str
    dispatches: int
    passed: int
    mean_quality: float | None
    mean_consensus: float | None
    mean_score: float | None


@dataclass(frozen=True, slots=True)
class Counts:
    """Results of dispatches; means are over passed answers that have a value.

    Attributes:
        dispatches: how many there were.
        passed: answers that passed the gates.
        failed: reason code to how many failed for it.
    """

    dispatches: int
    passed: int
    failed: Mapping[Reason, int]
    mean_quality: float | None
    mean_consensus: float | None
    mean_score: float | None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task of the owner's.

    Attributes:
        task: its path below the folder.
        sha256: of its bundle, or of its workflow's document at this pace.
        given: rounds in which miners got it.
        spread: between the miners' mean scores; None below two miners with one.
        by: the parts of the score that differ between miners by as much as counts, the widest first.
        separates: whether it tells miners apart.
        why: whether and why, as a code.
        advice: that in a line.
        analysis_s: seconds of processor time of an analysis; None where none was made.
        miners: by mean score, descending.
        answers: every dispatch, in the order of the rounds.
    """

    task: str
    skill_type: SkillType
    sha256: str
    has_truth: bool
    given: int
    counts: Counts
    spread: float | None
    by: tuple[str, ...]
    separates: bool
    why: Why
    advice: str
    analysis_s: float | None
    miners: tuple[MinerOnTask, ...]
    answers: Sequence[OwnAnswer]


@dataclass(frozen=True, slots=True)
class TypeResult:
    """All tasks of a type; `separating` of its `tasks` tell miners apart, `given` of them were given to miners."""

    skill_type: SkillType
    tasks: int
    given: int
    separating: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class Heard:
    """Facts about a task's rounds other than its answers.

    Attributes:
        given, skipped: rounds in which miners got it, and in which nobody could take it.
        analysis_s: seconds of processor time of an analysis, None where none was made.
        pace: of the network.
    """

    given: int
    skipped: int
    analysis_s: float | None
    pace: float


_NAME: Final = 200
_SHORT: Final = 30
_END: Final = 12  # of a name that is cut: seeded tasks differ in it
_COUNTS: Final = ("dispatches", "passed", "mean Q", "mean cons.")
_LEFT_ALIGNED: Final = frozenset({"task", "type", "gates failed", "separates"})


def print_own(types: Sequence[TypeResult], tasks: Sequence[TaskResult], console: Console) -> None:
    """Print what was scored per type and task, then a line of advice for each task."""
    table = _table("\nYour tasks, by type", ("type", "tasks", "given", *_COUNTS, "separate", "gates failed"))
    for one in types:
        counts = (str(one.tasks), str(one.given), *_counts(one.counts), str(one.separating))
        _row(table, one.skill_type, *counts, _failed(one.counts))
    console.print(table)
    columns = ("task", "type", "given", *_COUNTS, "spread", "s per analysis", "separates", "gates failed")
    table = _table("\nYour tasks", columns)
    for task in tasks:
        numbers = (str(task.given), *_counts(task.counts), _number(task.spread), _number(task.analysis_s))
        separates = "yes" if task.separates else "no"
        _row(table, _short(printable(task.task, _NAME)), task.skill_type, *numbers, separates, _failed(task.counts))
    console.print(table)
    separating = sum(task.separates for task in tasks)
    console.print(f"\n{separating} of {len(tasks)} tasks tell miners apart.")
    for task in tasks:
        console.print(Text(f"{printable(task.task, _NAME)} ({task.skill_type}): {task.advice}."), soft_wrap=True)
    console.print()


def _short(name: str) -> str:
    return name if len(name) <= _SHORT else f"{name[: _SHORT - _END - 1]}…{name[-_END:]}"


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="left" if column in _LEFT_ALIGNED else "right")
    return table


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(printable(cell)) for cell in cells))


def _counts(counts: Counts) -> tuple[str, ...]:
    means = (counts.mean_quality, counts.mean_consensus)
    return str(counts.dispatches), str(counts.passed), *map(_number, means)


def _failed(counts: Counts) -> str:
    return ", ".join(f"{many} {reason}" for reason, many in counts.failed.items())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
