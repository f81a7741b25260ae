"""Benchmark of the store's size: growth by one round, by table, on SQLite and Postgres, and over a year."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from harness import Case
from samples.marked_bundles import marked
from samples.store_size import PASSING, Sizes, sizes, sizes_in_postgres

_KB: Final = 1_000
_GB: Final = 1_000_000_000
_YEAR: Final = 365 * 24 * 6  # rounds, one per ten minutes
_LEAST: Final = 0.3 * _KB


def cases() -> Iterator[Case]:
    """Yield the bytes of each table that grows, and their sum next to that of the bare documents."""
    yield from _of_a_round("SQLite", sizes())
    yield from _of_a_round("Postgres", sizes_in_postgres())
    table, sent = marked().table / _KB, marked().sent / _KB
    yield _size("a round of six real bundles, four with a marker: bundles", "KB", table, sent, "all that were sent")


def _of_a_round(database: str, sizes: Sizes) -> Iterator[Case]:
    of_a_round = f"a round of 60 answers, 64 miners, {database}"
    for name, size in sorted(sizes.tables.items(), key=lambda one: -one[1]):
        if size >= _LEAST:
            kept = "until its retention ends" if name in PASSING else "permanently"
            yield _size(f"{of_a_round}: {name}, {kept}", "KB", size / _KB)
    kept_kb = sum(size for name, size in sizes.tables.items() if name not in PASSING) / _KB
    floor_kb, what, year = sizes.floor / _KB, "its documents, zstd -19 over all rounds", _YEAR * _KB / _GB
    yield _size(f"{of_a_round}: all that is permanent", "KB", kept_kb, floor_kb, what, "≤ 110")
    yield _size(f"a year at a round per ten minutes, {database}", "GB", kept_kb * year, floor_kb * year, what, "≤ 6")


def _size(  # noqa: PLR0913, PLR0917 - a case and its floor
    case: str, unit: str, value: float, floor: float | None = None, floor_is: str = "", demand: str = ""
) -> Case:
    floor_of = None if floor is None else partial(float, floor)
    return Case(case, unit, partial(float, value), floor_of, floor_is, demand, runs=1, warm_up=0)
