"""Fixed cost of a command: CPU of whole processes, user and system, compared with Python's own start.

The help of all commands, and questions to a small store: three rounds of a released version, brought to this
version's tables.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from cli_store import write_config
from harness import Case
from old_rounds import play
from samples.commands import PROGRAM, PYTHON, command_cpu_s

_LISTINGS: Final = (
    "rounds list",
    "rounds show 1",
    "neurons list",
    "flags list",
    "waiting list",
    "weights show",
    "tasks retired",
    "db state",
    "explain 1 --round 1",
    "status --no-chain",
)
_WORK: Final = ("db check", "replay 1", "audit export --out {log}")
_VERIFY: Final = "audit verify {log}"


def cases() -> Iterator[Case]:
    """Yield each command, slow or not."""
    yield _case(("--help",), "< 0.15")
    with tempfile.TemporaryDirectory(prefix="startup") as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/store.sqlite"
        asyncio.run(play(url))
        settings, log = ("--config", str(write_config(folder, url))), folder / "log.jsonl"
        for question in _LISTINGS:
            yield _case(question.split(), "< 1.0", settings)
        for question in _WORK:
            yield _case(question.format(log=log).split(), "", settings)
        yield _case(_VERIFY.format(log=log).split(), "")


def _case(command: Sequence[str], demand: str, settings: Sequence[str] = ()) -> Case:
    return Case(
        " ".join(Path(word).name for word in command),
        "s",
        partial(command_cpu_s, (*PROGRAM, *command, *settings)),
        partial(command_cpu_s, PYTHON),
        "`python -c pass`",
        demand,
        runs=3,
        warm_up=0,
    )
