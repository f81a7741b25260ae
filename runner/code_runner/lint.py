"""The linter's run over a stranger's module, as a process; the findings lower the plan's quality. No files."""

import json
import subprocess
from typing import Final

from code_runner.starting import environment, python

UNREADABLE: Final = 1_000
"""Findings in what the linter cannot get through."""
_SECONDS: Final = 10.0


def findings(code: bytes) -> int:
    """Return how many findings ruff's own choice of rules has; a comment in the code switches none of them off."""
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
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return UNREADABLE
