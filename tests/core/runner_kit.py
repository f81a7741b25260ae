"""The runner of code as a process, without an engine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, NamedTuple

RUNNER: Final = Path(__file__).parents[2] / "runner"
_DRIVER: Final = """
import json, sys
from code_runner.keeping import Budget, judge_code
order = json.load(sys.stdin)
sys.executable = order["python"]
code = open(order["file"], "rb").read()
judged = judge_code(code, order["file"], order["tests"], Budget(order["seconds"], 320 << 20, order["test_s"]))
print(json.dumps({"keys": judged.keys, "good": sorted(judged.passed), **judged.report()}))
"""
_MODULE: Final = 'runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)'


class Ran(NamedTuple):
    """Result of the keeper: the tests, those that passed, and the report."""

    keys: list[str]
    passed: set[str]
    report: dict[str, Any]

    @property
    def failed(self) -> set[str]:
        return set(self.keys) - self.passed


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))} | {
        "PYTHONPATH": str(RUNNER),
        **more,
    }


def judging(  # noqa: PLR0913 - what a judging is given
    folder: Path, code: str, tests: str, *, seconds: float = 60, test_s: float = 20, slow: str = ""
) -> subprocess.Popen[str]:
    """Begin to judge the code by the tests in separate processes; `slow`: shell that runs before each of Python."""
    file = folder / "solution.py"
    file.write_text(dedent(code))
    order = {"file": str(file), "tests": dedent(tests), "seconds": seconds, "test_s": test_s}
    order["python"] = str(delaying(folder, slow)) if slow else sys.executable
    keeper = subprocess.Popen(
        [sys.executable, "-c", _DRIVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(TMPDIR=str(folder)),
    )
    assert keeper.stdin is not None
    keeper.stdin.write(json.dumps(order))
    keeper.stdin.flush()
    keeper.stdin.close()
    keeper.stdin = None
    return keeper


def delaying(folder: Path, slow: str) -> Path:
    """Return a Python that starts on a machine as slow as this shell makes it."""
    file = folder / "python"
    module = f'import runpy, sys; sys.executable = "{file}"; del sys.argv[0]; {_MODULE}'
    file.write_text(f"#!/bin/sh\nhere={folder}\n{slow}\nshift 3\nexec {sys.executable} -s -P -c '{module}' \"$@\"\n")
    file.chmod(0o755)
    return file


def judged(folder: Path, code: str, tests: str, **budget: Any) -> Ran:
    """Judge the code by the tests in separate processes."""
    return ended(judging(folder, code, tests, **budget))


def ended(keeper: "subprocess.Popen[str]") -> Ran:
    """Return what the keeper reported."""
    out, errors = keeper.communicate()
    assert keeper.returncode == 0, errors
    found = json.loads(out)
    keys, passed = found.pop("keys"), set(found.pop("good"))
    return Ran([key.removesuffix("#0") for key in keys], {key.removesuffix("#0") for key in passed}, found)
