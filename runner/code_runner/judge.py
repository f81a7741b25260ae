"""The judge: the process that a task's tests run in, and nothing of a stranger's.

`python -m code_runner.judge DESCRIPTOR` reads an order from the socket and writes a JSON line to it for
everything that happens: ["tests", KEYS], ["fault", TEXT] or ["late"] of an order that asks what tests there are; else
["loading"] before the module first runs, or ["late"], ["begin", KEY] and ["end", KEY, PASSED] for each test, and
["done"]. It ends after a test that hangs or that took the module's process with it: the keeper starts another one for
the tests that are left.
"""

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final
from unittest.mock import MagicMock, NonCallableMock

import pytest

from code_runner.confine import end_with_parent, keep_others_out
from code_runner.mirror import is_mirror
from code_runner.session import TESTS, Solution
from code_runner.starting import NAME, Order

MOST_TESTS: Final = 1_000
_FOLDER: Final = Path(__file__).parent / "task"
_MAX_ERROR: Final = 300  # characters of an error


class _Anything(ModuleType):
    """Stand-in for the solution while tests are counted, so that their number is the task's alone."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


class _TaskModule(pytest.Module):
    """The task's test module, from a string, so that it is on no disk."""

    source = ""

    def _getobj(self) -> ModuleType:
        module = ModuleType(TESTS)
        module.__file__ = str(self.path)
        sys.modules[TESTS] = module
        exec(compile(self.source, "tests", "exec"), module.__dict__)  # noqa: S102 - the task's own, and all that is for
        return module


class Judging:
    """The pytest plugin that executes an order."""

    def __init__(self, order: Order, descriptor: int) -> None:
        self._order = order
        self._descriptor = descriptor
        self._solution = Solution(order.solution, order.memory, self.loading)
        self._loading = False
        self._fault = ""
        self._failed = False
        self._passed = False
        self._now: str | None = None
        self._began = time.process_time()

    def tell(self, *what: Any) -> None:
        """Write a line to the keeper."""
        os.write(self._descriptor, json.dumps(what).encode() + b"\n")

    def loading(self) -> None:
        """Begin the time of the module, which runs from now on."""
        self._loading = True
        self.tell("loading")
        signal.setitimer(signal.ITIMER_REAL, self._order.test_s)

    def late(self, _signal: int, _frame: FrameType | None) -> None:
        """End because a test or the import took too long; a process that got little CPU time was not at fault."""
        if self._now is not None:
            self.tell("end", self._now, False)
        elif self._order.keys is None and time.process_time() - self._began > self._order.test_s / 10:
            self.tell("fault", f"importing the tests takes more than {self._order.test_s:g} s")
        elif not self._loading:
            self.tell("late")
        os._exit(0)

    def prepare(self) -> None:
        """Install the solution, or its stand-in, for the tests' import."""
        if self._order.keys is None:
            sys.modules[NAME] = _Anything(NAME)
        else:
            sys.meta_path.insert(0, self._solution)
        _TaskModule.source = self._order.tests
        signal.signal(signal.SIGALRM, self.late)
        signal.setitimer(signal.ITIMER_REAL, self._order.test_s)

    @pytest.hookimpl
    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Any:
        """Make the task's module out of the file that stands for it."""
        return _TaskModule.from_parent(parent, path=module_path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, obj: object) -> Any:
        """Collect nothing of the solution as a test, whatever its name."""
        return [] if is_mirror(obj) or isinstance(obj, NonCallableMock) else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the reason why there are no tests."""
        if report.failed and not self._fault:
            lines = str(report.longrepr).strip().splitlines() or ["collecting the tests failed"]
            self._fault = lines[-1].removeprefix("E").strip()[:_MAX_ERROR]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Give each test its key, and keep those that are to be run."""
        seen: Counter[str] = Counter()
        keyed = []
        for item in items:
            name = item.nodeid.partition("::")[2].partition("[")[0]
            keyed.append((f"{name}#{seen[name]}", item))
            seen[name] += 1
        self._keys = {item: key for key, item in keyed}
        if self._order.keys is None:
            self._tell_tests([key for key, _ in keyed])
            items.clear()
            return
        wanted = set(self._order.keys)
        items[:] = [item for key, item in keyed if key in wanted]

    def _tell_tests(self, keys: list[str]) -> None:
        if self._fault:
            self.tell("fault", self._fault)
        elif not keys:
            self.tell("fault", "there is no test")
        elif len(keys) > MOST_TESTS:
            self.tell("fault", f"there are {len(keys)} tests, at most {MOST_TESTS} may be")
        else:
            self.tell("tests", keys)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Time the test and report its result."""
        self._now, self._failed, self._passed = self._keys[item], False, False
        self.tell("begin", self._now)
        signal.setitimer(signal.ITIMER_REAL, self._order.test_s)
        result = yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.tell("end", self._now, self._passed and not self._failed and not self._solution.broken)
        self._now = None
        if self._solution.broken:
            os._exit(0)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a test for passed if its call passed and nothing of it failed; skipped is not passed."""
        self._failed = self._failed or report.failed
        self._passed = self._passed or (report.when == "call" and report.passed and not hasattr(report, "wasxfail"))


def main(descriptor: str) -> None:
    """Execute the order on the input."""
    end_with_parent()
    keep_others_out()
    keeper = int(descriptor)
    os.set_inheritable(keeper, False)
    order_text = b""
    while piece := os.read(keeper, 65_536):
        order_text += piece
    judging = Judging(Order.decoded(order_text), keeper)
    judging.prepare()
    options = ["--noconftest", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--capture=sys", "--tb=line", "-q"]
    places = ["-c", str(_FOLDER / "pytest.ini"), "--rootdir", str(_FOLDER), str(_FOLDER / f"{TESTS}.py")]
    ended = pytest.main([*options, *places], plugins=[judging])
    if ended in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        judging.tell("done")
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
