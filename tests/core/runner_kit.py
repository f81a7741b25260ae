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
code = open(order["file"], "rb").read()
judged = judge_code(code, order["file"], order["tests"], Budget(order["seconds"], 320 << 20, order["test_s"]))
print(json.dumps({"keys": judged.keys, "good": sorted(judged.passed), **judged.report()}))
"""


class Ran(NamedTuple):
    """What the keeper came to: which tests there are and which passed, and the report."""

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


def judged(folder: Path, code: str, tests: str, *, seconds: float = 60, test_s: float = 20) -> Ran:
    """Judge the code by the tests in processes of their own."""
    file = folder / "solution.py"
    file.write_text(dedent(code))
    order = {"file": str(file), "tests": dedent(tests), "seconds": seconds, "test_s": test_s}
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        env=environment(TMPDIR=str(folder)),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    keys, passed = found.pop("keys"), set(found.pop("good"))
    return Ran([key.removesuffix("#0") for key in keys], {key.removesuffix("#0") for key in passed}, found)
