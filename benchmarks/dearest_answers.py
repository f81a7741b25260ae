"""What the dearest answers that we know of cost to judge: CPU seconds, memory above a worker's start (SPEC 5, D-27).

Run `make bench`. Every kind of hostility that is a body, as the answer of a content type (at most 4 MiB) and of a
runtime type's primary (traces of at most 16 MiB), and the dearest legal answer, each in a process of its own that has
loaded what a worker has. Prints the dearest ones and ends with 1 when one is over the limits.
"""

import asyncio
import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

TESTS: Final = Path(__file__).parents[1] / "tests"
SHOWN: Final = 12
MEMORY: Final = 160.0  # MiB
CPU_S: Final = {"content": 0.5, "runtime": 2.0}


class Cost(NamedTuple):
    """One answer: seconds of CPU, MiB above the start, the reason code it ended in, and which answer it was."""

    cpu_s: float
    memory: float
    reason: str
    group: str
    name: str
    size: float


def answers() -> Iterator[tuple[str, str, Any, bytes]]:
    """Yield (group, name, what was expected, body) of every answer that is tried."""
    sys.path.append(str(TESTS / "core"))
    from builders import MINER, expect, make_task
    from hostile import of_channel
    from hostile.kinds import Case

    from validator.kinds.assessment.dearest import dearest_answer
    from validator.protocol.answer import Dispatch
    from validator.protocol.probes import probe_values
    from validator.protocol.skill_types import SkillType

    yield "runtime", "the dearest legal answer", *dearest_answer(1)
    types = {"content": SkillType.DECLARATIVE, "runtime": SkillType.EXECUTABLE_PYTHON}
    for kind in of_channel("answer"):
        if kind.subject in {"transport", "framing"}:
            continue
        for group, skill_type in types.items():
            if kind.traced and group == "content":
                continue
            task = make_task(skill_type)
            spec = probe_values(task.nonce)
            sent = Dispatch("0", "t1", skill_type, "primary", 1, 10, task.nonce, spec, None, task.bundle_sha256, "")
            case = Case(random.Random(3), MINER, sent, None)  # type: ignore[arg-type]
            body: Any = asyncio.run(kind.make(case))  # type: ignore[arg-type]
            if isinstance(body, bytes):
                yield group, kind.name, expect(task), body


def cost(group: str, name: str, expected: Any, body: bytes) -> Cost:
    """Judge one answer in a process of its own."""
    call = pickle.dumps((expected, body))
    command = [sys.executable, __file__, "--judge"]
    done = subprocess.run(command, input=call, stdout=subprocess.PIPE, check=True)
    cpu_s, memory, reason = done.stdout.decode().split()
    return Cost(float(cpu_s), float(memory), reason, group, name, len(body) / 2**20)


def judge_one() -> None:
    """Judge what comes on standard input, as a worker does; print seconds of CPU, MiB above the start, the reason."""
    from validator.kinds.assessment.judge import judge

    start = peak()
    expected, body = pickle.loads(sys.stdin.buffer.read())
    began = time.process_time()
    judged = judge(expected, body, 1.5)
    cpu_s = time.process_time() - began
    print(cpu_s, peak() - start, judged.reason)


def peak() -> float:
    """Return the most memory that this process ever had, in MiB."""
    lines = Path(f"/proc/{os.getpid()}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main() -> int:
    """Print the dearest of all; return 1 when one is over its limits."""
    costs = sorted((cost(*each) for each in answers()), reverse=True)
    for group, limit in CPU_S.items():
        print(f"\n{group} type: {limit:g} s, {MEMORY:g} MiB are allowed")
        for each in [each for each in costs if each.group == group][:SHOWN]:
            print(
                f"{each.cpu_s:7.3f} s {each.memory:6.1f} MiB  {each.size:5.2f} MiB sent  {each.reason:20} {each.name}"
            )
    most = max(costs, key=lambda each: each.memory)
    print(f"\nmost memory: {most.memory:.1f} MiB, {most.name} ({most.group})")
    return int(any(each.cpu_s > CPU_S[each.group] or each.memory > MEMORY for each in costs))


if __name__ == "__main__":
    if "--judge" in sys.argv:
        judge_one()
    else:
        sys.exit(main())
