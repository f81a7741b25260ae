"""What one run in the sandbox costs of its own: everything but the image's work.

Run `make bench-sandbox` beside a container engine (DOCKER_HOST), docker-registry and busybox. The image ends at once
and is in the cache; what is measured is looking at it, two volumes in memory, two containers, the bundle in, the
evidence out, and removing all of it. Prints the median, the least and the most of twenty, and the first with its pull.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "core"))

from engine_kit import Registry, job_of, running_registry, sandbox_at

from validator.reruns.sandbox.job import Evidence

RUNS: Final = 20


async def measure(registry: Registry) -> list[float]:
    """Return the seconds of each run, the first with the pull."""
    sandbox = sandbox_at("benchmark")
    job = await job_of(registry, "echo > $SSSA_EVIDENCE/fs.jsonl")
    found = []
    for _ in range(RUNS + 1):
        before = time.perf_counter()
        evidence = await sandbox.run(job)
        found.append(time.perf_counter() - before)
        if not isinstance(evidence, Evidence):
            sys.exit(f"no evidence: {evidence}")
    await sandbox.close()
    return found


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, running_registry(Path(folder)) as registry:
        first, *others = asyncio.run(measure(registry))
    middle = statistics.median(others)
    print(f"one run, its image in the cache: median {middle:.3f} s of {RUNS}, {min(others):.3f} to {max(others):.3f} s")
    print(f"the first, with a pull of 4 MB from a registry on this machine: {first:.3f} s")


if __name__ == "__main__":
    main()
