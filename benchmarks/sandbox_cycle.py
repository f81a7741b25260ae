"""Cost of executing one task: two runs of its bundle and one of none, in the runtime image (SPEC 15).

Run it next to a container engine (DOCKER_HOST), docker-registry and busybox. The bundle ends at once
and the image is in the engine; what is measured is the sandbox (looking at the image, two volumes in memory, two
containers, the bundle in, the evidence out, removing all of it) and the tracer. Prints the median, the least and the
most of ten, the seconds that the image's own programs took of them, and the first run with its pull. RUNTIME=runsc
measures gVisor. ENGINE_CPU names files, with colons between them, that hold the nanoseconds used by the engine and by
its containers, the `cpuacct.usage` of their control groups: then the processor time of a task is printed, too, which
holds on a busy machine.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "core"))

from code_kit import serving_runtime_image
from engine_kit import running_registry, sandbox_at
from sandbox_jobs import make_job

from sssa.protocol.archives import pack
from sssa.protocol.runtime_image import RuntimeImage
from validator.sandbox.interface import Evidence

TASKS: Final = 10
ENGINE_CPU: Final = os.environ.get("ENGINE_CPU")
BUNDLE: Final = pack({"main.sh": b"echo done > out.txt\n"})


def engine_cpu() -> float:
    """Return the processor seconds that the engine and its containers have used; 0 where nothing names them."""
    return sum(int(Path(name).read_text()) / 1e9 for name in ENGINE_CPU.split(":")) if ENGINE_CPU else 0.0


async def measure(image: RuntimeImage) -> tuple[list[float], list[float], float]:
    """Return the seconds of each execution, those of its programs, and the first run's with the pull."""
    sandbox = sandbox_at("benchmark", runtime=os.environ.get("RUNTIME"))
    jobs = [make_job(image=image, bundle=bundle) for bundle in (BUNDLE, BUNDLE, None)]
    began = time.perf_counter()
    await sandbox.run(jobs[0])
    first = time.perf_counter() - began
    wall, inside, engine, own = [], [], engine_cpu(), time.process_time()
    for _ in range(TASKS):
        began, seconds = time.perf_counter(), 0.0
        for job in jobs:
            evidence = await sandbox.run(job)
            if not isinstance(evidence, Evidence):
                sys.exit(f"no evidence: {evidence}")
            seconds += evidence.seconds
        wall.append(time.perf_counter() - began)
        inside.append(seconds)
    if ENGINE_CPU:
        engine, own = (engine_cpu() - engine) / TASKS, (time.process_time() - own) / TASKS
        print(f"processor time of one task: {engine:.2f} s of the engine and the image, {own:.3f} s here")
    await sandbox.close()
    return wall, inside, first


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, running_registry(Path(folder)), serving_runtime_image() as image:
        wall, inside, first = asyncio.run(measure(image))
    middle = statistics.median(wall)
    print(f"one task, three runs: median {middle:.3f} s of {TASKS}, {min(wall):.3f} to {max(wall):.3f} s")
    print(f"of these the image's own programs: median {statistics.median(inside):.3f} s")
    print(f"the first run, with a pull from a registry on this machine: {first:.3f} s")


if __name__ == "__main__":
    main()
