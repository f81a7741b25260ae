"""Benchmark harness: cases that run with their floors, one table, one file of rows.

A benchmark is a module of `benchmarks/cases` with a function `cases()`; its name is what `make bench ONLY=…` chooses.

Touches `bench.json`. Called by `make bench`, and by every case for its types and clocks.
"""

from harness.case import Case, Row
from harness.clocks import microseconds, per_second

__all__ = ["Case", "Row", "microseconds", "per_second"]
