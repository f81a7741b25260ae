"""What settling a group of the dearest legal attestations costs: scoring, proving and storing it."""

import gc
import sys
import time
from collections.abc import Iterator
from functools import partial

from dear_groups import SHAPES, dear_group, settle
from harness import Case

from validator.protocol.canonical import canonical_bytes
from validator.store.signed import attestations_of, packed_proof


def cases() -> Iterator[Case]:
    """Yield the most CPU time of each kind of shape; every shape is printed."""
    for kind in dict.fromkeys(name.partition(":")[0] for name in SHAPES):
        yield Case(
            f"five attestations of 256 KiB, the dearest {kind}",
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
            costs[f"{name}{', alike' if alike else ''}"] = _cost(name, alike=alike)
    for name, cost in sorted(costs.items(), key=lambda one: -one[1]):
        print(f"{cost:6.2f} s  {name}", file=sys.stderr)
    return max(costs.values())


def _cost(name: str, *, alike: bool) -> float:
    task, attested = dear_group(name, alike=alike)
    gc.disable()  # as settling does
    try:
        began = time.process_time()
        proof = settle(task, attested)
        packed_proof(proof, attestations_of(0, map(canonical_bytes, attested.values())))
        return time.process_time() - began
    finally:
        gc.enable()
