"""CPU of whole processes of commands, user and system, for `cases/startup.py` and others."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from cli_store import environment

PYTHON: Final = (sys.executable, "-c", "pass")
PROGRAM: Final = (sys.executable, "-c", "from validator.cli import main; main()")
_ENDED: Final = (0, 1)  # 1 is an answer


def command_cpu_s(command: Sequence[str]) -> float:
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
