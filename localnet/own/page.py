"""What a run says of an owner's tasks, as tables: each type, each task, and what to do about each."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from localnet.own.results import Counts, TaskResult, TypeResult
from validator.protocol.text import printable

_NAME: Final = 200
_SHORT: Final = 30
_END: Final = 12  # of a name that is cut: seeded tasks differ in it
_COUNTS: Final = ("dispatches", "passed", "mean Q", "mean cons.")
_LEFT: Final = frozenset({"task", "type", "gates failed", "separates"})


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
        told = "yes" if task.separates else "no"
        _row(table, _short(printable(task.task, _NAME)), task.skill_type, *numbers, told, _failed(task.counts))
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
        table.add_column(column, justify="left" if column in _LEFT else "right")
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
