"""Benchmark of settling a group of the costliest valid attestations: scoring, proving and storing it."""

import sys
from collections.abc import Iterator
from functools import partial

from dear_groups import SHAPES, cost_of_group, dear_group
from harness import Case


def cases() -> Iterator[Case]:
    """Yield the most CPU time of each kind of shape; every shape is printed."""
    for kind in dict.fromkeys(name.partition(":")[0] for name in SHAPES):
        yield Case(
            f"five attestations of 192 KiB, the dearest {kind}",
            "s",
            partial(_most, kind),
            demand="≤ 1",
            runs=1,
            warm_up=0,
        )


def _most(kind: str) -> float:
    costs = {}
    for name in (name for name in SHAPES if name.partition(":")[0] == kind):
        for alike in (False, True):
            costs[f"{name}{', alike' if alike else ''}"] = cost_of_group(*dear_group(name, alike=alike))
    for name, cost in sorted(costs.items(), key=lambda one: -one[1]):
        print(f"{cost:6.2f} s  {name}", file=sys.stderr)
    return max(costs.values())
