"""Benchmark of permanent growth: the store after a round of 60 answers at their limits, by shape of text (D-44)."""

from collections.abc import Iterator
from functools import partial

from full_answers import SHAPES
from harness import Case
from samples.store_size import kept_of_full_round

_LIMIT_MIB = 16


def cases() -> Iterator[Case]:
    """Yield the bytes of each shape on each database."""
    for shape, script in SHAPES.items():
        for database in ("SQLite", "Postgres"):
            yield Case(
                f"60 attestations of 192 KiB, {shape}, {database}: kept permanently",
                "MiB",
                partial(kept_of_full_round, script, database),
                demand=f"≤ {_LIMIT_MIB}",
                runs=1,
                warm_up=0,
            )
