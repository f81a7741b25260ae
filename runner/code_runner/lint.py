"""The linter's run over a stranger's module, as a process; the findings lower the plan's quality. No files."""

import json
import resource
import subprocess
from typing import Final

from code_runner.starting import environment, python

UNREADABLE: Final = 1_000
"""Findings in what the linter cannot get through."""
_SECONDS: Final = 10.0
_SHARE: Final = 0.5  # of a processor, which who computes has unless the machine is slow


class LintLateError(Exception):
    """The machine did not let the linter compute."""


def findings(code: bytes) -> int:
    """Return how many findings ruff's own choice of rules has; a comment in the code switches none of them off.

    Raises:
        LintLateError: it did not get its share. It only computes, so that no code makes it wait.
    """
    before = _computed_s()
    options = ["--isolated", "--no-cache", "--ignore-noqa", "--target-version", "py312", "--statistics"]
    command = python("ruff", "check", *options, "--output-format", "json", "--stdin-filename", "solution.py", "-")
    try:
        done = subprocess.run(
            command,
            input=code,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            env=environment() | {"RAYON_NUM_THREADS": "1"},
            check=False,
        )
        return 0 if done.returncode == 0 else sum(rule["count"] for rule in json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        if _computed_s() - before < _SECONDS * _SHARE:
            raise LintLateError from None
        return UNREADABLE
    except (ValueError, KeyError, TypeError):
        return UNREADABLE


def _computed_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
