"""Judging by the runner: honest modules with tests as authors write them, without an engine."""

import hashlib
import hmac
import json
import subprocess
import sys
from pathlib import Path

import pytest
from code_runner import lint
from runner_kit import RUNNER, Ran, delaying, environment, judged

SOLUTION = """
import asyncio
import functools
import re
from collections import namedtuple
from enum import Enum


def slugify(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


class Color(Enum):
    RED = "r"
    BLUE = "b"


Point = namedtuple("Point", "x y")


class BadError(ValueError):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def fail():
    raise BadError("bad", 7)


class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        return self._items.pop()

    def __len__(self):
        return len(self._items)

    def __eq__(self, other):
        return isinstance(other, Stack) and self._items == other._items

    @property
    def top(self):
        return self._items[-1]


def count(most):
    yield from range(most)


def rotate(matrix):
    matrix[:] = [list(row) for row in zip(*matrix[::-1])]


def blank(matrix):
    matrix[0][0] = None


def apply(function, values):
    return [function(value) for value in values]


def retry(times):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            wrapper.calls += 1
            for _ in range(times):
                try:
                    return function(*args)
                except ValueError as error:
                    last = error
            raise last

        wrapper.calls = 0
        return wrapper

    return decorate


def greet():
    print("hello")


async def later(value):
    await asyncio.sleep(0)
    return value + 1


class Catching:
    def __enter__(self):
        return 5

    def __exit__(self, kind, error, trace):
        return kind is ValueError


def reverse(node):
    last = None
    while node:
        node.next, last, node = last, node, node.next
    return last


class Table(dict):
    pass


def convert(text, kind):
    return kind(text)


def test_of_its_own():
    pass
"""

TESTS = """
import asyncio
import unittest
from decimal import Decimal

import pytest
import solution
from solution import *


def test_text():
    assert slugify("A b!") == "a-b" == solution.slugify("A b!")

def test_enum():
    assert Color.RED.value == "r" and Color("b") is Color.BLUE and Color["RED"] is Color.RED and len(list(Color)) == 2

def test_named_tuple():
    point = Point(1, 2)
    assert point == (1, 2) and point.x == 1 and point._replace(x=3) == (3, 2) and isinstance(point, Point)

def test_errors():
    with pytest.raises(BadError, match="bad") as caught:
        fail()
    assert caught.value.code == 7
    with pytest.raises(ValueError):
        fail()

def test_objects():
    one, other = Stack(), Stack()
    one.push([2])
    assert len(one) == 1 and one.top == [2] and one and not other and one != other
    assert one.pop() == [2] and one == other and isinstance(one, Stack) and one != 3

def test_generator():
    assert list(count(4)) == [0, 1, 2, 3] and next(count(2)) == 0

def test_changes_in_place():
    matrix = [[1, 2], [3, 4]]
    rotate(matrix)
    assert matrix == [[3, 1], [4, 2]]
    blank(matrix)
    assert matrix[0] == [None, 1]

def test_callback():
    assert apply(lambda value: value * 2, [1, Decimal("1.5")]) == [2, Decimal("3.0")]

def test_decorator():
    seen = []

    @retry(3)
    def function(value):
        seen.append(value)
        if len(seen) < 3:
            raise ValueError("again")
        return value

    assert function(5) == 5 and seen == [5, 5, 5] and function.calls == 1 and function.__name__ == "function"

class Mine(Exception):
    pass

def test_error_of_the_tests():
    def function(value):
        raise Mine(value)
    with pytest.raises(Mine):
        apply(function, [1])

def test_output(capsys):
    greet()
    assert capsys.readouterr().out == "hello\\n"

def test_coroutine():
    assert asyncio.run(later(2)) == 3

def test_context_manager():
    with Catching() as five:
        assert five == 5
        raise ValueError

class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next

def test_objects_of_the_tests():
    last = reverse(Node(1, Node(2)))
    assert (last.value, last.next.value, last.next.next) == (2, 1, None)

def test_derived_from_a_dict():
    assert Table(a=1) == {"a": 1} and Table(a=1)["a"] == 1 and {"a": 1} == Table(a=1)

def test_builtin_class():
    assert convert("3", int) == 3

@pytest.mark.parametrize("text", ["a", "b", "A"])
def test_cases(text):
    assert slugify(text) == text

@pytest.fixture
def three():
    return 3

def test_fixture(three, tmp_path):
    assert tmp_path.exists() and three == 3

class TestGroup:
    def test_in_a_class(self):
        assert True

class TestUnit(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()
    def test_equal(self):
        self.assertEqual(slugify("A"), "a")
    def test_fails(self):
        self.assertEqual(slugify("A"), "b")
    def test_fails_in_part(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertLess(number, 2)

class TestLater(unittest.IsolatedAsyncioTestCase):
    async def test_awaits(self):
        self.assertEqual(await later(1), 2)

@pytest.mark.skip
def test_skipped():
    pass

@pytest.mark.xfail
def test_expected_to_fail():
    assert False

def test_wrong():
    assert slugify("x") == "y"

def test_fixture_that_is_not_there(nowhere):
    pass
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return judged(tmp_path_factory.mktemp("honest"), SOLUTION, TESTS)


def test_tests_use_functions_classes_errors_and_objects_of_the_solution_as_in_one_process(honest: Ran) -> None:
    wrong = {"test_wrong", "test_fixture_that_is_not_there", "test_skipped", "test_expected_to_fail"}
    wrong |= {"test_cases#2", "TestUnit::test_fails", "TestUnit::test_fails_in_part"}
    assert honest.failed == wrong
    assert honest.report == {"passed": len(honest.keys) - len(wrong), "total": len(honest.keys), "findings": 0}


def test_the_number_of_tests_is_the_tasks(honest: Ran, tmp_path: Path) -> None:
    """Whatever the solution is: its own functions that are called test_… are none."""
    assert "test_of_its_own" not in honest.keys
    broken = judged(tmp_path, "def (", TESTS)
    assert (broken.keys, broken.passed) == (honest.keys, set())
    assert broken.report["findings"] > 0


@pytest.mark.parametrize(
    ("tests", "fault"),
    [
        ("def test_a(:", "SyntaxError: invalid syntax"),
        ("import nowhere\ndef test_a(): pass", "ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(3)\ndef test_a(): pass", "ends the interpreter"),
        ("def helper(): 'def test'", "there is no test"),
        ("import pytest\n@pytest.mark.parametrize('x', range(1001))\ndef test_a(x): pass", "there are 1001 tests"),
        ("while True: pass\ndef test_a(): pass", "importing the tests takes more than 3 s"),
    ],
)
def test_tests_that_judge_nobodys_code_are_named(tmp_path: Path, tests: str, fault: str) -> None:
    found = judged(tmp_path, "x = 1\n", tests, test_s=3)
    assert list(found.report) == ["fault"]
    assert fault in found.report["fault"]


@pytest.mark.parametrize(
    ("code", "findings"),
    [
        ("x = 1\n", 0),
        ("import os\nimport sys\n", 2),
        ("import os  # noqa\nimport sys  # noqa: F401\n", 2),
        ("# ruff: noqa\nimport os\n", 1),
        ("x = = 1\n", 1),
    ],
)
def test_the_linters_findings_are_counted_whatever_comments_say(code: str, findings: int) -> None:
    assert lint.findings(code.encode()) == findings


def test_what_the_linter_cannot_get_through_is_worth_nothing() -> None:
    assert lint.findings(b"x = '\xff'\n") == lint.UNREADABLE


ONE = "def one():\n    return 1\n"
HANGS = ONE + "def hangs():\n    while True: pass\n"
ASKS = "import solution\ndef test_a():\n    solution.%s()\ndef test_b():\n    assert solution.one() == 1\n"
SECOND = '*.judge*) mkdir "$here/first" 2>/dev/null || %s;;'


@pytest.mark.parametrize(
    ("slow", "code", "budget", "report"),
    [
        ("*.judge*) exec sleep 99;;", ONE, {"test_s": 0.1}, {"late": True}),  # longer than a judge may be silent
        ("*.judge*) exec sleep 99;;", ONE, {"seconds": 2}, {"late": True}),
        ("*.judge*) kill -9 $$;;", ONE, {}, {"late": True}),
        (SECOND % "exec sleep 99", ONE, {"test_s": 2}, {"late": True}),
        (SECOND % "sleep 4", ONE, {"seconds": 8}, {"late": True}),  # half of the time is gone
        ("*.host*) exec sleep 99;;", ONE, {"test_s": 2}, {"late": True}),
        # once the module has run, a slow machine is its own doing
        ('*.host*) mkdir "$here/first" 2>/dev/null || exec sleep 99;;', HANGS, {"test_s": 2}, {"passed": 0}),
        (SECOND % 'mkdir "$here/second" 2>/dev/null || exec sleep 99', HANGS, {"test_s": 2}, {"passed": 0}),
    ],
)
def test_a_machine_that_is_slow_before_the_module_runs_judges_nobody(
    tmp_path: Path, slow: str, code: str, budget: dict[str, float], report: dict[str, object]
) -> None:
    tests = ASKS % ("hangs" if code == HANGS else "one")
    found = judged(tmp_path, code, tests, slow=f'case "$*" in {slow} esac', **budget)
    assert found.report == (report if "late" in report else report | {"total": 2, "findings": 0})


def test_a_linter_that_may_not_compute_judges_nobody_and_one_that_computes_for_ever_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint, "_SECONDS", 1.0)
    monkeypatch.setattr("sys.executable", str(delaying(tmp_path, "exec sleep 99")))
    with pytest.raises(lint.LintLateError):
        lint.findings(b"x = 1\n")
    monkeypatch.setattr(lint, "_SHARE", 0.01)
    delaying(tmp_path, "while :; do :; done")
    assert lint.findings(b"x = 1\n") == lint.UNREADABLE


def test_authors_see_which_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def one():\n    return 1\n")
    tests = tmp_path / "theirs.py"
    command = [sys.executable, "-m", "code_runner", str(tmp_path / "mine.py"), str(tests)]
    tests.write_text(
        "from solution import one\ndef test_one():\n    assert one() == 1\ndef test_two():\n    one() / 0\n"
    )
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.stdout.splitlines() == [
        "passed test_one",
        "FAILED test_two",
        '{"passed": 1, "total": 2, "findings": 0}',
    ]
    assert done.returncode == 1


def test_in_a_sandbox_the_report_is_all_that_is_left_and_carries_the_keys_mac(tmp_path: Path) -> None:
    bundle, evidence, key = tmp_path / "bundle", tmp_path / "evidence", bytes(range(32))
    bundle.mkdir()
    (evidence / "folder" / "deep").mkdir(parents=True)
    (evidence / "folder").chmod(0)
    (evidence / "report.json").symlink_to("/etc/passwd")
    (bundle / "solution.py").write_text("def one():\n    return 1\n")
    tests = b"from solution import one\ndef test_one():\n    assert one() == 1\n"
    stream = hashlib.shake_256(key).digest(len(tests))
    (bundle / "tests.sealed").write_bytes(bytes(a ^ b for a, b in zip(tests, stream, strict=True)))
    given = {"SSSA_BUNDLE": str(bundle), "SSSA_EVIDENCE": str(evidence), "SSSA_SECONDS": "60", "SSSA_KEY": key.hex()}
    subprocess.run([sys.executable, "-m", "code_runner"], env=environment(**given), cwd=RUNNER, check=True)
    assert {path.name for path in evidence.iterdir()} == {"report.json", "report.mac"}
    report = (evidence / "report.json").read_bytes()
    assert json.loads(report) == {"passed": 1, "total": 1, "findings": 0}
    assert (evidence / "report.mac").read_text() == hmac.digest(key, report, "sha256").hex()
