"""Comparison of honest runs of one bundle across kernels, processors and hosts (SPEC 15).

Run it next to a container engine (DOCKER_HOST) that knows the runtime `runsc` (gVisor). Each of TASKS
bundles, written and planted ones, is executed as a validator does, in runc and in gVisor, and run by miners: in runc
with a tenth and half of a processor and with two, in gVisor with one and with two, and by the tracer alone on this
host, on one of its processors and on all; where libfaketime is installed, 400 days later, too. Every miner is compared
with both validators: half of the comparisons are across kernels. Bundles that name files after random numbers, the
time, process ids and processors follow, and such that do as much as they have time for. Prints counts; exits with 1 if
any honest miner fails.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "core"))

from code_kit import serving_runtime_image
from engine_kit import running_registry, sandbox_at
from tracer.places import Folder

from miner.bundles.written import written_bundles
from miner.tracing import pack_traces, trace_as
from sssa.protocol.answer import probe_values
from sssa.protocol.archives import pack
from sssa.protocol.bundles import read_bundle
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import BASE_TRACES, SkillType, is_runtime
from sssa.protocol.traces import digitless_digests, read_traces, signature_digest
from sssa.scoring import ExecutionRun, TracedAnswer, compare_execution, version
from sssa.sources import SeededRandom
from taskmaker.canary import make_canary
from validator.sandbox.containers import ContainerSandbox
from validator.sandbox.interface import Ended, Evidence, SandboxJob, SandboxLimits

TASKS: Final = int(os.environ.get("TASKS", "44"))
AT_ONCE: Final = 3
NONCE: Final = "5eed0123" * 8
FAKETIME: Final = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
LATER: Final = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": "+9605h", "DONT_FAKE_MONOTONIC": "1"}
PROBES: Final = probe_values(NONCE)
DIGITLESS: Final[dict[bytes, bytes]] = {}
STEADY: Final = "".join(f"open('steady-{number}', 'w').close()\n    " for number in range(6))
ODD: Final = {
    "random": "import random, uuid\ndef run():\n    "
    + STEADY
    + "open(f'{uuid.uuid4()}', 'w'); open(f'{random.random()}', 'w')\n",
    "all random": "import uuid\ndef run():\n    for _ in range(9): open(f'{uuid.uuid4()}', 'w')\n",
    "time": "import time\ndef run():\n    "
    + STEADY
    + "open(time.strftime('%H%M%S'), 'w'); open(str(time.time_ns()), 'w')\n",
    "day": "import datetime\ndef run():\n    " + STEADY + "open(f'report-{datetime.date.today()}.txt', 'w')\n",
    "process": "import os\ndef run():\n    "
    + STEADY
    + "open(f'{os.getpid()}.pid', 'w'); open(f'{os.getppid()}', 'w')\n",
    "processors": "import os\ndef run():\n    "
    + STEADY
    + "for n in range(os.cpu_count()): open(f'worker-{n}', 'w')\n    open(f'n{len(os.sched_getaffinity(0))}', 'w')\n",
    "machine": "import platform, socket\ndef run():\n    "
    + STEADY
    + "open(f'{platform.release()}-{socket.gethostname()}', 'w'); open(platform.version().replace('/', '_'), 'w')\n",
    "order": "def run():\n    " + STEADY + "open(str(next(iter({'a', 'b', 'c', 'd', 'e'}))), 'w')\n",
}
_FOR: Final = (
    "import time\ndef run():\n    " + STEADY + "end, n = time.monotonic() + %s, 0\n    while time.monotonic() < end:\n"
)
_NEXT: Final = "        n += 1\n        time.sleep(%s)\n"
COUNTING: Final = {
    "a file in 10 ms for 2 s": _FOR % 2 + "        open(f'tick-{n}', 'w')\n" + _NEXT % 0.01,
    "a file in 300 ms for 2 s": _FOR % 2 + "        open(f'tick-{n}', 'w')\n" + _NEXT % 0.3,
    "a file in 200 ms for 1.7 s": _FOR % 1.7 + "        open(f'part{n}.tmp', 'w')\n" + _NEXT % 0.2,
    "as many files as it can in 50 ms": _FOR % 0.05 + "        open(f'{n}.cache', 'w')\n" + _NEXT % 0,
    "a command in 100 ms for 1 s": "import subprocess\n"
    + _FOR % 1
    + "        subprocess.run(['echo', f'step {n}'])\n"
    + _NEXT % 0.1,
    "a host in 50 ms for 1 s": "import socket\n"
    + _FOR % 1
    + "        try: socket.getaddrinfo(f'h{n}.example.invalid', 80)\n"
    + "        except OSError: pass\n"
    + _NEXT % 0.05,
    "three random names": "import uuid\ndef run():\n    "
    + STEADY
    + "for _ in range(3): open(f'/tmp/{uuid.uuid4()}', 'w')\n",
    "twelve random numbers": "import random\ndef run():\n    "
    + STEADY
    + "for _ in range(12): open(f'/tmp/{random.randrange(10**9)}', 'w')\n",
    "temporary files for 1 s": "import tempfile\n" + _FOR % 1 + "        tempfile.mkstemp()\n" + _NEXT % 0.1,
    "the time in 10 ms for 1 s": _FOR % 1 + "        open(f'/tmp/{time.time_ns()}.log', 'w')\n" + _NEXT % 0.01,
    "process ids for 1 s": "import os\n" + _FOR % 1 + "        open(f'{os.getpid()}-{n}.lock', 'w')\n" + _NEXT % 0.05,
    "folders of the time for 2 s": "import os\n"
    + _FOR % 2
    + "        folder = time.strftime('%%H/%%M%%S')\n        os.makedirs(folder, exist_ok=True)\n".replace("%%", "%")
    + "        open(f'{folder}/{n}', 'w')\n"
    + _NEXT % 0.1,
}


class Task(NamedTuple):
    """A bundle of a runtime type; `mark` is the signature of its execution mark, where it has one."""

    name: str
    skill_type: SkillType
    bundle: bytes
    mark: bytes | None = None


def tasks() -> list[Task]:
    """Return the written bundles of runtime types, and planted ones of each type in turn."""
    chosen = [Task(one.name, one.skill_type, one.packed()) for one in written_bundles() if is_runtime(one.skill_type)]
    types = [skill_type for skill_type in SkillType if is_runtime(skill_type)]
    for number in range(max(0, TASKS - len(chosen))):
        made = make_canary(types[number % len(types)], SeededRandom(f"honest {number}"))
        path = made.task.truth.mark if made.task.truth is not None else None
        mark = signature_digest("fs", {"op": "write", "path": path}) if isinstance(path, str) else None
        chosen.append(Task(f"planted-{number}", made.task.skill_type, made.bundle, mark))
    return chosen[:TASKS]


class Machine:
    """Sandboxes in both kernels, and this host."""

    def __init__(self, image: RuntimeImage) -> None:
        self._image = image
        self._slots = asyncio.Semaphore(AT_ONCE)
        self.sandboxes: Mapping[str, ContainerSandbox] = {
            kernel: sandbox_at("benchmark", runtime=runtime) for kernel, runtime in (("runc", None), ("runsc", "runsc"))
        }

    async def contained(self, kernel: str, task: Task, *, nothing: bool = False, cpus: float = 1.0) -> ExecutionRun:
        """Run the bundle, or nothing, in a container."""
        limits = replace(SandboxLimits(), cpus=cpus)
        bundle = None if nothing else task.bundle
        async with self._slots:
            result = await self.sandboxes[kernel].run(
                SandboxJob(self._image, task.skill_type, bundle, NONCE, PROBES, limits)
            )
        if not isinstance(result, Evidence):
            sys.exit(f"{task.name}: {result}")
        if result.ended is not Ended.BY_ITSELF or result.exit_code:
            log = result.log.decode("utf-8", "replace")[-1000:]
            sys.exit(f"{task.name} in {kernel}: ended {result.ended}, code {result.exit_code}: {log}")
        return run_of(pack(result.files), task)

    async def on_host(self, task: Task) -> ExecutionRun:
        """Run the bundle by the tracer alone."""
        async with self._slots:
            records = await trace_as(read_bundle(task.bundle), task.skill_type, PROBES, timeout_s=60)
        return run_of(pack_traces(records), task)


def run_of(packed: bytes, task: Task) -> ExecutionRun:
    """Return a run that ended by itself as a comparison takes it."""
    DIGITLESS.update(digitless_digests(packed, BASE_TRACES))
    traces = read_traces(packed, task.skill_type, PROBES)
    return ExecutionRun(True, all(traces.probes), traces.signatures)


async def execute(machine: Machine, kernel: str, task: Task, nothing: ExecutionRun) -> list[ExecutionRun]:
    """Return a validator's three runs of a task."""
    return [await machine.contained(kernel, task), await machine.contained(kernel, task), nothing]


async def compared(machine: Machine, task: Task, nothing: Mapping[str, ExecutionRun]) -> Counter[str]:
    """Return how often each result came, over two validators and all miners."""
    validators = {kernel: await execute(machine, kernel, task, nothing[kernel]) for kernel in nothing}
    contained = {
        "runc, a tenth of a processor": machine.contained("runc", task, cpus=0.1),
        "runc, half a processor": machine.contained("runc", task, cpus=0.5),
        "runc, two processors": machine.contained("runc", task, cpus=2.0),
        "gVisor, one processor": machine.contained("runsc", task),
        "gVisor, two processors": machine.contained("runsc", task, cpus=2.0),
    }
    miners = dict(zip(contained, await asyncio.gather(*contained.values()), strict=True))
    miners |= {"host, pinned": await pinned(machine, task), "host": await machine.on_host(task)}
    if FAKETIME is not None:
        miners["host, 400 days later"] = await later(task)
    counts: Counter[str] = Counter()
    for kernel, runs in validators.items():
        answers = [TracedAnswer(name, run.probes, run.signatures) for name, run in miners.items()]
        mark = None if task.mark is None else ("fs", task.mark)
        result = compare_execution(
            version("1.0.0"), runs, answers, probes={}, mark=mark, made_here=True, digitless=DIGITLESS.__getitem__
        )
        if result.inconclusive is not None:
            counts[f"inconclusive ({result.inconclusive})"] += len(answers)
        for one in result.answers:
            across = one.hotkey.startswith("gVisor") != (kernel == "runsc")
            counts[f"{one.event or 'no event'}, {'another kernel' if across else 'the same kernel'}"] += 1
            counts["differences in S"] += sum(len(file.missing) for file in one.files.values())
            if one.event == "rerun_fail":
                print(f"FAIL {task.name}: {one.hotkey} at a validator in {kernel}: {', '.join(one.faults)}")
    return counts


async def later(task: Task) -> ExecutionRun:
    """Run on this host, on another day and at another time of day."""
    with tempfile.NamedTemporaryFile() as bundle:
        bundle.write(task.bundle)
        bundle.flush()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, bundle.name, task.skill_type),
            env=os.environ | LATER,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
    if process.returncode:
        sys.exit(f"{task.name} later: code {process.returncode}")
    return run_of(out, task)


def trace_later(bundle: str, skill_type: str) -> None:
    """Write the traces of a run in this process's time."""
    usual = Folder.environment
    Folder.environment = lambda self: usual(self) | LATER  # type: ignore[method-assign]
    records = asyncio.run(trace_as(read_bundle(Path(bundle).read_bytes()), SkillType(skill_type), PROBES, timeout_s=60))
    records["fs"] = [one for one in records["fs"] if "/faketime_" not in str(one["path"])]  # of the library's own
    sys.stdout.buffer.write(pack_traces(records))


async def pinned(machine: Machine, task: Task) -> ExecutionRun:
    """Run on this host, on its last processor alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        return await machine.on_host(task)
    finally:
        os.sched_setaffinity(0, before)


async def measure(image: RuntimeImage) -> bool:
    """Compare and print; return whether anybody honest failed."""
    machine = Machine(image)
    chosen = tasks()
    manifest = json.dumps({"name": "odd", "version": "1", "entry_point": "main:run"}).encode()
    odd = [
        Task(name, SkillType.EXECUTABLE_PYTHON, pack({"main.py": code.encode(), "manifest.json": manifest}))
        for name, code in {**ODD, **COUNTING}.items()
    ]
    nothing: dict[SkillType, dict[str, ExecutionRun]] = {
        task.skill_type: {kernel: await machine.contained(kernel, task, nothing=True) for kernel in machine.sandboxes}
        for task in {task.skill_type: task for task in [*chosen, *odd]}.values()
    }
    total: Counter[str] = Counter()
    for at, task in enumerate(chosen):
        total += await compared(machine, task, nothing[task.skill_type])
        print(f"{at + 1} of {len(chosen)}", end="\r", file=sys.stderr)
    print(f"{len(chosen)} bundles: {dict(sorted(total.items()))}")
    for task in odd:
        counts = await compared(machine, task, nothing[task.skill_type])
        total += counts
        print(f"{task.name}: {dict(sorted(counts.items()))}")
    for sandbox in machine.sandboxes.values():
        await sandbox.close()
    return any(name.startswith("rerun_fail") for name in total)


def main() -> None:
    """Run on the engine of DOCKER_HOST; with a bundle and its type as arguments, trace that."""
    if len(sys.argv) > 1:
        trace_later(*sys.argv[1:])
        return
    with tempfile.TemporaryDirectory() as folder, running_registry(Path(folder)), serving_runtime_image() as image:
        sys.exit(1 if asyncio.run(measure(image)) else 0)


if __name__ == "__main__":
    main()
