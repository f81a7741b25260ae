"""Benchmark of a workflow of ten steps in a diamond, over real HTTP, relative to its longest path (at most 1.1).

Services wait for their step's time and answer with real signatures on loopback.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from harness import Case
from step_services import Services, honest, step_client, task_at
from workflow_builders import make_plan, step

from sssa.scoring import CURRENT, version
from sssa.sources import SystemClock
from validator.kinds.workflow.executor import run_plan

_MIDDLE: Final = {"m1": 0.3, "m2": 0.5, "m3": 0.2, "m4": 0.4}
_NEXT: Final = {"n1": 0.6, "n2": 0.3, "n3": 0.1, "n4": 0.2}
_ENDS: Final = {"start": 0.3, "end": 0.3}
_LONGEST: Final = _ENDS["start"] + max(map(sum, zip(_MIDDLE.values(), _NEXT.values(), strict=True))) + _ENDS["end"]


def cases() -> Iterator[Case]:
    """Yield the wall clock of the run next to the sum of the waits along its longest path."""
    yield Case(
        "a diamond of 10 steps over HTTP",
        "s",
        lambda: asyncio.run(_seconds()),
        lambda: _LONGEST,
        "its longest path",
        "ratio ≤ 1.1",
        runs=5,
        warm_up=0,
    )


async def _seconds() -> float:
    """Return the wall clock of one run."""
    seconds = _ENDS | _MIDDLE | _NEXT
    edges = [("start", name) for name in _MIDDLE] + [(name, "end") for name in _NEXT]
    edges += zip(_MIDDLE, _NEXT, strict=True)
    services = Services({name: [honest(delay=delay)] for name, delay in seconds.items()})
    async with services.serving() as url, step_client() as client:
        task = task_at(url)
        plan = make_plan(task, [step(name) for name in seconds], edges)
        record = await run_plan(version(CURRENT), task, plan, client, SystemClock(), run_id="bench")
    if not all(item.completed for item in record.steps):
        raise RuntimeError(f"a step failed: {record.steps}")
    return record.seconds
