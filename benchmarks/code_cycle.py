"""Overhead of one judging of code: everything but the code's and the tests' own work.

Run it next to a container engine (DOCKER_HOST), docker-registry and busybox. One test of one
function; the image is in the cache. What is measured is a run in the sandbox (`sandbox_cycle.py`), an interpreter that
judges, twice pytest, the linter and the interpreter of the code. Prints the median, the least and the most of ten.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "core"))

from code_kit import code_sandbox, serving_runtime_image
from engine_kit import running_registry

from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.workflow_run import CodeReport
from validator.sandbox.code_containers import TRIAL
from validator.sandbox.interface import CodeJob

RUNS: Final = 10


async def measure(image: RuntimeImage) -> list[float]:
    """Return the seconds of each check; the image has been tried before."""
    found, job = [], CodeJob(image, *TRIAL)
    async with code_sandbox(owner="benchmark") as (_, sandbox):
        await sandbox.check(job)
        for _ in range(RUNS):
            before = time.perf_counter()
            report = await sandbox.check(job)
            found.append(time.perf_counter() - before)
            if report != CodeReport(1, 1, 0):
                sys.exit(f"not judged: {report}")
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, running_registry(Path(folder)), serving_runtime_image() as image:
        times = asyncio.run(measure(image))
    middle = statistics.median(times)
    print(f"one check of code: median {middle:.3f} s of {RUNS}, {min(times):.3f} to {max(times):.3f} s")


if __name__ == "__main__":
    main()
