"""Commands and environment of the judge, host and linter processes, and the judge's order; others start them."""

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

NAME: Final = "solution"
"""What tests import."""
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONPATH": str(Path(__file__).parents[1]),
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}


@dataclass(frozen=True, slots=True)
class Order:
    """Order to a judge.

    Attributes:
        tests: source of the test module.
        keys: tests to run; None: say which there are.
        solution: the stranger's file.
        memory: bytes of address space for its process.
        test_s: seconds for each test, and for importing the module.
    """

    tests: str
    keys: list[str] | None
    solution: str
    memory: int
    test_s: float

    def encoded(self) -> bytes:
        """Return the order as `decoded` reads it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decoded(cls, data: bytes) -> "Order":
        """Return the order that `encoded` wrote."""
        return cls(**json.loads(data))


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module, with no folder on its path that others may write to."""
    return [sys.executable, "-s", "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return the variables for a process: fixed ones, nothing of the keeper's, and where temporary files go."""
    return _ENVIRONMENT | {"TMPDIR": tempfile.gettempdir()}
