"""The first code of a traced run: limits, namespaces, probes, then the skill (see `process.py` for the other side).

A supervisor forks the skill's process, waits for it and writes `["end", {"status": …}]`; it stays until it is killed
with its whole process group, so that the group's number cannot be used again before.
"""

from __future__ import annotations

import os
import sys
import time

from localnet.tracing.inside import isolation
from localnet.tracing.inside.audit import Auditor
from localnet.tracing.inside.probes import perform
from localnet.tracing.inside.recorder import Recorder
from localnet.tracing.inside.skills import become_script, run_function, run_server

_CHANNEL = 30  # above what a skill opens, below its limit
_LINGER_S = 5.0


class Job:
    """What to run.

    Args:
        base: the run's private folder.
        folder: the skill's folder in it.
        mode: `none`, `function`, `server` or `script`.
        entry: the entry point, in the mode's form.
        probes: the four probe values, or none of them.
    """

    def __init__(self, base: str, folder: str, mode: str, entry: str, *probes: str) -> None:
        self.folder = folder
        self.mode = mode
        self.entry = entry
        self.probes = probes
        self.skill = f"{base}/skill"
        self.script_setup = f"{base}/trace.sh"


def main(arguments: list[str]) -> None:
    """Run one skill.

    Args:
        arguments: start (monotonic seconds), CPU seconds, and those of `Job`.
    """
    started, cpu_s, *rest = arguments
    job = Job(*rest)
    _open_channel()
    isolation.die_with_parent()
    isolation.limit_resources(int(cpu_s))
    isolated = isolation.enter_namespaces()
    if isolated:
        isolation.limit_processes()
    recorder = Recorder(_CHANNEL, job.skill, float(started))
    recorder.write("start", isolated=int(isolated))
    child = os.fork()
    if child == 0:
        isolation.die_with_parent()
        os._exit(_work(job, Auditor(recorder), isolated=isolated))
    for fd in (0, 1):
        os.dup2(2, fd)
    _, status = os.waitpid(child, 0)
    recorder.write("end", status=os.waitstatus_to_exitcode(status))
    time.sleep(_LINGER_S)


def _open_channel() -> None:
    """Keep the trace channel (stderr so far) for this code alone and give the skill a silent stderr."""
    os.dup2(2, _CHANNEL, inheritable=False)
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 2)
    os.close(silence)


def _work(job: Job, auditor: Auditor, *, isolated: bool) -> int:
    try:
        if job.probes:
            auditor.refuses_names = not isolated
            auditor.install()
            perform(auditor, *job.probes)
            auditor.refuses_names = True
        os.chdir(job.folder)
        if job.mode == "function":
            run_function(auditor, job.folder, job.entry)
        elif job.mode == "server":
            run_server(auditor, job.folder, job.entry)
        elif job.mode == "script":
            become_script(_CHANNEL, job.script_setup, job.entry)
    except BaseException as error:  # noqa: BLE001 - whatever ends a skill, its trace counts
        auditor.watching = False
        auditor.recorder.write("error", type=type(error).__name__, detail=str(error))
        return 0 if isinstance(error, SystemExit) and not error.code else 1
    finally:
        auditor.watching = False
        _flush()
    return 0


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
