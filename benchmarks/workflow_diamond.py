"""How much longer a diamond of ten steps takes over real HTTP than its longest path (issue: at most 1.1 times).

Run `make bench`. Services wait for their step's time and answer with real signatures on loopback; the ratio is that of
the run's wall clock to the sum of the waits along the longest path. Prints the median of a few runs; ends with 1 when
it is over the limit.
"""

import asyncio
import statistics
import sys
from pathlib import Path
from typing import Final

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS / "core"), str(TESTS / "kinds")]

from step_services import Services, honest, step_client, task_at  # noqa: E402 - they lie beside the tests
from workflow_builders import make_plan, step  # noqa: E402

from validator.kinds.workflow.executor import run_plan  # noqa: E402
from validator.scoring import CURRENT, version  # noqa: E402
from validator.sources import SystemClock  # noqa: E402

LIMIT: Final = 1.1
RUNS: Final = 5
MIDDLE: Final = {"m1": 0.3, "m2": 0.5, "m3": 0.2, "m4": 0.4}
NEXT: Final = {"n1": 0.6, "n2": 0.3, "n3": 0.1, "n4": 0.2}
ENDS: Final = {"start": 0.3, "end": 0.3}


async def ratio() -> float:
    """Return the wall clock of one run, in longest paths."""
    seconds = ENDS | MIDDLE | NEXT
    edges = [("start", name) for name in MIDDLE] + [(name, "end") for name in NEXT]
    edges += zip(MIDDLE, NEXT, strict=True)
    longest = ENDS["start"] + max(MIDDLE[m] + NEXT[n] for m, n in zip(MIDDLE, NEXT, strict=True)) + ENDS["end"]
    services = Services({name: [honest(delay=delay)] for name, delay in seconds.items()})
    async with services.serving() as url, step_client() as client:
        task = task_at(url)
        plan = make_plan(task, [step(name) for name in seconds], edges)
        record = await run_plan(version(CURRENT), task, plan, client, SystemClock(), run_id="bench")
    if not all(item.completed for item in record.steps):
        raise RuntimeError(f"a step failed: {record.steps}")
    return record.seconds / longest


def main() -> int:
    """Print the ratios; return the exit code."""
    ratios = [asyncio.run(ratio()) for _ in range(RUNS)]
    median = statistics.median(ratios)
    shown = " ".join(f"{value:.3f}" for value in ratios)
    print(f"diamond of 10 steps over HTTP: {median:.3f} x its longest path (at most {LIMIT}); runs {shown}")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
