"""The keeper: `python -m code_runner` writes a report in a sandbox; with SOLUTION TESTS it prints one to authors."""

import hashlib
import hmac
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

from code_runner.confine import clear, keep_others_out, kill_all_others, take_variable
from code_runner.keeping import Budget, judge_code

_KEY: Final = "SSSA_KEY"
_SHARE: Final = 0.75  # of the sandbox's time; the rest is for starting, linting and ending
_SECONDS: Final = 60.0
_MIB: Final = 1024 * 1024
_MEMORY: Final = 320 * _MIB


def sealed(key: bytes, data: bytes) -> bytes:
    """Return the data so that only who has the key can read it, and the other way round; one key for one text."""
    stream = hashlib.shake_256(key).digest(len(data))
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")


def in_sandbox() -> None:
    """Judge what is in the bundle, and leave the report in the evidence folder when nobody else is left."""
    keep_others_out()
    # The kernel keeps every signal from process 1 that it does not handle, and Python handles this one.
    signal.signal(signal.SIGINT, lambda *_: None)
    key = bytes.fromhex(take_variable(_KEY))
    bundle, evidence = Path(os.environ["SSSA_BUNDLE"]), Path(os.environ["SSSA_EVIDENCE"])
    code = (bundle / "solution.py").read_bytes()
    tests = sealed(key, (bundle / "tests.sealed").read_bytes()).decode()
    budget = Budget(float(os.environ["SSSA_SECONDS"]) * _SHARE, _MEMORY)
    judged = judge_code(code, str(bundle / "solution.py"), tests, budget)
    kill_all_others()
    clear(evidence)
    report = json.dumps(judged.report()).encode()
    (evidence / "report.json").write_bytes(report)
    (evidence / "report.mac").write_text(hmac.digest(key, report, "sha256").hex(), encoding="ascii")


def for_authors(solution: str, tests: str) -> int:
    """Print the result of a solution and tests; return 0 if all passed."""
    code, file, source = Path(solution).read_bytes(), str(Path(solution).resolve()), Path(tests).read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        judged = judge_code(code, file, source, Budget(_SECONDS * _SHARE, _MEMORY))
    for key in judged.keys:
        print("passed" if key in judged.passed else "FAILED", key.removesuffix("#0"))
    print(json.dumps(judged.report()))
    return 0 if judged.keys and set(judged.keys) == judged.passed else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            in_sandbox()
        case [solution, tests]:
            sys.exit(for_authors(solution, tests))
        case _:
            sys.exit("usage: python -m code_runner [SOLUTION TESTS]")
