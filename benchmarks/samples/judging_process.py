"""A process that judges one answer with what a worker has loaded, for `open_calls.py`; prints CPU and memory."""

import os
import pickle
import sys
import time
from pathlib import Path


def judge_one() -> None:
    """Judge what comes on standard input; print seconds of CPU, MiB above the start, the reason."""
    from sssa.kinds.assessment.judge import judge

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


if __name__ == "__main__":
    judge_one()
