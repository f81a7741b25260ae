"""Cost of judging the most expensive answers.

Every kind of hostility that is a body, as the answer of a content type (at most 4 MiB) and of a runtime type's primary
(traces of at most 16 MiB), and the dearest legal answer, each in its own process that has loaded what a worker
has. The most expensive ones are printed.
"""

import asyncio
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from builders import MINER, expect, make_task
from harness import Case
from hostile import of_channel
from hostile.kinds import Case as Attack

from sssa.kinds.assessment.costliest_answer import dearest_answer
from sssa.protocol.answer import Dispatch, probe_values
from sssa.protocol.runtime_image import UNPUBLISHED
from sssa.protocol.skill_types import SkillType

_JUDGING: Final = Path(__file__).parents[1] / "samples" / "judging.py"
_SHOWN: Final = 12
_TYPES: Final = {"content": SkillType.DECLARATIVE, "runtime": SkillType.EXECUTABLE_PYTHON}
_CPU_S: Final = {"content": 0.5, "runtime": 2.0}
_MEMORY: Final = 160  # MiB


class Cost(NamedTuple):
    """One answer: seconds of CPU, MiB above the start, the reason code it ended in, and which answer it was."""

    cpu_s: float
    memory: float
    reason: str
    group: str
    name: str
    size: float


def cases() -> Iterator[Case]:
    """Yield the most CPU time of each group of types, and the most memory of all."""
    for group, limit in _CPU_S.items():
        yield Case(
            f"CPU of the dearest answer of a {group} type",
            "s",
            partial(_most_cpu, group),
            demand=f"≤ {limit:g}",
            runs=1,
            warm_up=0,
        )
    yield Case(
        "memory of the dearest answer",
        "MiB",
        lambda: max(cost.memory for group in _TYPES for cost in _most_expensive(group, "memory")),
        demand=f"≤ {_MEMORY}",
        runs=1,
        warm_up=0,
    )


def _most_cpu(group: str) -> float:
    return max(cost.cpu_s for cost in _most_expensive(group, "cpu_s"))


def _most_expensive(group: str, by: str) -> list[Cost]:
    """Return what the group's answers cost, the dearest of them printed."""
    costs = sorted((each for each in _costs() if each.group == group), key=attrgetter(by), reverse=True)
    for each in costs[:_SHOWN]:
        print(
            f"{each.cpu_s:7.3f} s {each.memory:6.1f} MiB  {each.size:5.2f} MiB sent  {each.reason:20} {each.name}",
            file=sys.stderr,
        )
    return costs


@cache
def _costs() -> list[Cost]:
    return [_cost(*each) for each in _answers()]


def _answers() -> Iterator[tuple[str, str, Any, bytes]]:
    """Yield (group, name, what was expected, body) of every answer that is tried."""
    yield "runtime", "the dearest legal answer", *dearest_answer(1)
    for kind in of_channel("answer"):
        if kind.subject in {"transport", "framing"}:
            continue
        for group, skill_type in _TYPES.items():
            if kind.traced and group == "content":
                continue
            task = make_task(skill_type)
            spec = probe_values(task.nonce)
            sent = Dispatch(
                "0", "t1", skill_type, "primary", 1, 10, task.nonce, spec, None, UNPUBLISHED, task.bundle_sha256, ""
            )
            attack = Attack(random.Random(3), MINER, sent, None)  # type: ignore[arg-type]
            body: Any = asyncio.run(kind.make(attack))  # type: ignore[arg-type]
            if isinstance(body, bytes):
                yield group, kind.name, expect(task), body


def _cost(group: str, name: str, expected: Any, body: bytes) -> Cost:
    """Judge one answer in its own process."""
    call = pickle.dumps((expected, body))
    done = subprocess.run([sys.executable, _JUDGING], input=call, stdout=subprocess.PIPE, check=True)
    cpu_s, memory, reason = done.stdout.decode().split()
    return Cost(float(cpu_s), float(memory), reason, group, name, len(body) / 2**20)
