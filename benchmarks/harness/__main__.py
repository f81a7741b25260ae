"""Run `make bench`, or some of it with `make bench ONLY=score,signatures`: one table, and the rows in `bench.json`.

Figures of a busy machine are worse, their ratios hardly: it ends with 0 whatever they are.
"""

import importlib
import sys
from pathlib import Path
from typing import Final

import cases

from harness.case import Case, Row
from harness.case_discovery import UnknownBenchmarkError, chosen, known
from harness.paired_runs import measure
from harness.rows import table, update

FILE: Final = Path("bench.json")


def main(only: str) -> int:
    """Measure the benchmarks that `only` names, all without a name; return the exit code."""
    try:
        names = chosen(known(cases.__path__), only)
    except UnknownBenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    measured: list[tuple[Case, Row]] = []
    for name in names:
        for case in importlib.import_module(f"cases.{name}").cases():
            print(f"{name}: {case.case}", file=sys.stderr)
            measured.append((case, measure(name, case)))
            update(FILE, [measured[-1][1]])
    print(table(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
