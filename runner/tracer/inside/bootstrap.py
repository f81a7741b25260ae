"""The first code of a run: the watcher, which forks the skill's process, follows it, and says how it ended.

The watcher stays until it is killed with its process group, so that the group's number cannot be used again before.
"""

from __future__ import annotations

import os
import sys
import time

from tracer.inside import barrier, isolation, probes
from tracer.inside.audit import Auditor
from tracer.inside.recorder import FullError, Recorder
from tracer.inside.skills import become, program_of, run_function, run_server
from tracer.inside.watch import Watcher, wait_for_watcher

_CLAIMS, _TRACE = 30, 31  # above what a skill opens, below its limit
_LINGER_S = 5.0
_MAX_SHIFT = 200


class Job:
    """Run to perform.

    Args:
        base: the run's private folder.
        folder: the skill's folder in it.
        mode: `none`, `function`, `server` or `script`.
        entry: the entry point, in the mode's form.
        probes: the four probe values, or none of them.
    """

    def __init__(self, base: str, folder: str, mode: str, entry: str, *values: str) -> None:
        self.folder = folder
        self.mode = mode
        self.entry = entry
        self.probes = values
        self.skill = f"{base}/skill"
        self.temporary = f"{base}/tmp"  # noqa: S108 - in the run's own folder
        self.script_setup = f"{base}/trace.sh"
        self.program = program_of(mode, entry)


def main(arguments: list[str]) -> None:
    """Run one skill.

    Args:
        arguments: start (monotonic seconds), CPU seconds, the descriptor of the skill's channel, and those of `Job`.
    """
    started, cpu_s, claims, *rest = arguments
    job = Job(*rest)
    _open_channels(int(claims))
    isolation.end_with_parent()
    isolation.keep_others_out()
    trace = Recorder(_TRACE, job.skill, job.temporary, float(started))
    if job.probes:
        probes.prepare(job.probes[0])
    first = os.getpid()
    _shift_process_ids()
    pid = os.fork()
    if pid:  # this process keeps the number of the group; the watcher's is shifted, for the skill may ask for it
        _let_go_of_pipes()
        os.waitpid(pid, 0)
        return
    isolation.end_with_parent()
    child = os.fork()
    if child == 0:
        os._exit(_work(job, Auditor(Recorder(_CLAIMS, job.skill, job.temporary, float(started))), int(cpu_s), first))
    _let_go_of_pipes()
    os.close(_CLAIMS)
    watcher = Watcher(trace, unseen=trace.command("", job.program[0], job.program[1:]) if job.program else "")
    try:
        watcher.attach(child)
        status = watcher.follow(child)
    except FullError:
        os.write(_TRACE, b'["full",{}]\n')
        status = -9
    if job.probes:
        probes.remove(job.probes[0])
    os.write(_TRACE, f'["end",{{"status":{status}}}]\n'.encode())
    time.sleep(_LINGER_S)


def _let_go_of_pipes() -> None:
    """Leave stdin and stdout to the skill alone."""
    for fd in (0, 1):
        os.dup2(2, fd)


def _open_channels(claims: int) -> None:
    """Keep the trace (stderr so far) for the watcher alone, and give the skill a silent stderr."""
    if claims != _CLAIMS:  # first: its own number may be that of the trace
        os.dup2(claims, _CLAIMS)
    os.set_inheritable(_CLAIMS, False)
    if claims not in (_CLAIMS, _TRACE):
        os.close(claims)
    os.dup2(2, _TRACE, inheritable=False)
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 2)
    os.close(silence)


def _shift_process_ids() -> None:
    """Let two runs differ in their process ids, as two machines do: a name with one in it belongs to no run."""
    if os.getpid() > _MAX_SHIFT:  # no container of its own: what else runs here shifts them
        return
    for _ in range(os.urandom(1)[0] % _MAX_SHIFT):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)


def _work(job: Job, auditor: Auditor, cpu_s: int, first: int) -> int:
    try:
        os.close(_TRACE)
        watcher = os.getppid()
        os.setsid()
        isolation.end_with_parent()
        isolation.make_readable()
        isolation.limit_resources(cpu_s, address_space=not (job.program and job.program[0] == "node"))
        wait_for_watcher()
        barrier.install((watcher, first, 1))
        if job.probes:
            probes.perform(auditor, *job.probes)
        os.chdir(job.folder)
        if job.program:
            become(job.program, _CLAIMS, job.script_setup)
        elif job.mode == "function":
            run_function(auditor, job.folder, job.entry)
        elif job.mode == "server":
            run_server(auditor, job.folder, job.entry)
    except BaseException as error:
        auditor.recorder.write("error", type=type(error).__name__, detail=str(error))
        return 0 if isinstance(error, SystemExit) and not error.code else 1
    finally:
        _flush()
    return 0


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
