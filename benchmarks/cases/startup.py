"""What a command costs by itself: CPU of whole processes, user and system, beside Python's own start.

The help of every command, and questions to a small store: three rounds of a released version, brought to this
version's tables.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from cli_commands import commands
from cli_store import environment, write_config
from harness import Case
from old_store import unpacked

from validator.store import upgrade

_FLOOR: Final = (sys.executable, "-c", "pass")
_PROGRAM: Final = (sys.executable, "-c", "from validator.cli import main; main()")
_LISTINGS: Final = (
    "rounds list",
    "rounds show 1",
    "miners list",
    "flags list",
    "reruns list",
    "checks list",
    "weights show",
    "tasks retired",
    "db state",
    "db forecast",
    "explain 1 1",
    "status --no-chain",
)
_WORK: Final = ("db check", "replay 1", "audit export --out {log}")
_VERIFY: Final = "audit verify {log}"
_ENDED: Final = (0, 1)  # 1 is an answer


def cases() -> Iterator[Case]:
    """Yield each command, slow or not."""
    for words in ((), *commands()):
        yield _case((*words, "--help"), "< 0.4")
    with tempfile.TemporaryDirectory(prefix="startup") as name:
        folder = Path(name)
        url = f"sqlite:///{unpacked('store.sqlite', folder, '1.1.0')}"
        asyncio.run(upgrade(url))
        settings, log = ("--config", str(write_config(folder, url))), folder / "log.jsonl"
        for question in _LISTINGS:
            yield _case(question.split(), "< 1.0", settings)
        for question in _WORK:
            yield _case(question.format(log=log).split(), "", settings)
        yield _case(_VERIFY.format(log=log).split(), "")


def _case(words: Sequence[str], demand: str, settings: Sequence[str] = ()) -> Case:
    return Case(
        " ".join(Path(word).name for word in words),
        "s",
        partial(_cpu_s, (*_PROGRAM, *words, *settings)),
        partial(_cpu_s, _FLOOR),
        "`python -c pass`",
        demand,
        runs=3,
        warm_up=0,
    )


def _cpu_s(command: Sequence[str]) -> float:
    """Return the seconds of CPU of a process that ends well."""
    own = {name: value for name, value in environment().items() if name != "PYTHONPATH"}
    started = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=own
    )
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode not in _ENDED:
        raise RuntimeError(f"{' '.join(command)} ended with {started.returncode}")
    return used.ru_utime + used.ru_stime
