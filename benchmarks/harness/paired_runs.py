"""Measuring of a case and its floor, by turns in the same process: what slows the machine down slows both."""

import gc
from statistics import median

from harness.case import Case, Row


def measure(name: str, case: Case) -> Row:
    """Return the medians of a case of the benchmark `name` and of its floor."""
    values: list[float] = []
    floors: list[float] = []
    both = [(values, case.run)] + ([] if case.floor is None else [(floors, case.floor)])
    for turn in range(case.warm_up + case.runs):
        for figures, run in both if turn % 2 else reversed(both):
            gc.collect()
            figures.append(run())
    counted, floor_values = values[case.warm_up :], floors[case.warm_up :]
    value, floor = median(counted), median(floor_values) if floor_values else None
    ratio = value / floor if floor else None
    return Row(name, case.case, value, case.unit, floor, ratio, min(counted), max(counted))
