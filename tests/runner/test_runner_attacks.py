"""Modules that want to pass tests without passing them, in processes without an engine."""

import os
import signal
import time
from pathlib import Path

import pytest
from runner_kit import ended, judged, judging

pytestmark = pytest.mark.attack

ALWAYS = '''
class Always:
    """Equal to everything, larger than everything, in everything, and of no difference to anything."""

    def yes(self, *args):
        return True

    def me(self, *args):
        return self

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = yes
    __sub__ = __rsub__ = __abs__ = __neg__ = __add__ = me

    def __ne__(self, other):
        return False

    def __hash__(self):
        return hash("a")

    def __round__(self, digits=0):
        return 0


class Text(str):
    __eq__ = Always.yes
    __ne__ = Always.__ne__
    __hash__ = str.__hash__
    __contains__ = startswith = Always.yes


class Number(int):
    __eq__ = __lt__ = __gt__ = Always.yes
    __hash__ = int.__hash__


class Pair(tuple):
    __eq__ = Always.yes
    __hash__ = tuple.__hash__


class Many(list):
    __eq__ = Always.yes


class Table(dict):
    __eq__ = Always.yes


def always():
    return Always()


def text():
    return Text("wrong")


def number():
    return Number(0)


def pair():
    return Pair((0, 0))


def many():
    return Many()


def table():
    return Table()


def listed():
    return [Always()]
'''
AGAINST_ALWAYS = """
import math, unittest
import pytest
from solution import *

def test_equal():
    assert always() == 42
def test_equal_turned():
    assert 42 == always()
def test_larger():
    assert always() > 3
def test_near():
    assert abs(always() - 3.5) < 1e-9
def test_approximate():
    assert always() == pytest.approx(3.5)
def test_close():
    assert math.isclose(always(), 3.5)
def test_among():
    assert always() in [1, 2]
def test_in_a_dict():
    assert {"a": 1} == {always(): 1}
def test_in_a_list():
    assert listed() == [1]
def test_text():
    assert text() == "right"
def test_text_turned():
    assert "right" == text()
def test_part_of_a_text():
    assert "right" in text()
def test_number():
    assert number() == 42
def test_number_ordered():
    assert number() > 41
def test_pair():
    assert pair() == (1, 2)
def test_many():
    assert many() == [1, 2]
def test_table():
    assert table() == {"a": 1}
def test_truth():
    assert always() is True
class TestUnit(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(always(), 42)
    def test_almost(self):
        self.assertAlmostEqual(always(), 3.5)
    def test_dict(self):
        self.assertDictEqual(table(), {"a": 1})
    def test_items(self):
        self.assertCountEqual(listed(), [1])
"""


def test_no_object_passes_for_plain_data(tmp_path: Path) -> None:
    found = judged(tmp_path, ALWAYS, AGAINST_ALWAYS)
    assert (len(found.keys), found.passed) == (22, set())


ENDING = """
import os, signal, subprocess, sys, threading, time

def leave():
    os._exit(0)
def leave_politely():
    sys.exit(0)
def interrupt():
    raise KeyboardInterrupt
def kill_the_judge():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
def stop_the_judge():
    os.kill(os.getppid(), signal.SIGSTOP)
    return 1
def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass
def endless():
    while True:
        yield 1
def deep():
    value = []
    for _ in range(100_000):
        value = [value]
    return value
def itself():
    value = []
    value.append(value)
    return value
def huge():
    return "x" * 100_000_000
def memory():
    return len(bytearray(1 << 40))
def shout():
    for _ in range(200):
        os.write(1, b"x" * 1_000_000)
    print("y" * 10_000_000)
    return 1
def fine():
    return 1
"""
AGAINST_ENDING = """
import pytest
import solution
from solution import fine

def test_leaves():
    with pytest.raises(BaseException):
        solution.leave()
def test_fine_1():
    assert fine() == 1
def test_leaves_politely():
    solution.leave_politely()
def test_interrupts():
    solution.interrupt()
def test_fine_2():
    assert fine() == 1
def test_kills():
    solution.kill_the_judge()
def test_fine_3():
    assert fine() == 1
def test_stops():
    assert solution.stop_the_judge() == 1
def test_fine_4():
    assert fine() == 1
def test_hangs():
    solution.hang()
def test_fine_5():
    assert fine() == 1
def test_endless():
    assert sum(solution.endless()) == 1
def test_deep():
    assert solution.deep()
def test_itself():
    assert solution.itself()
def test_huge():
    assert solution.huge()
def test_memory():
    assert solution.memory() == 1 << 40
def test_fine_6():
    assert fine() == 1
def test_shouts():
    assert solution.shout() == 1
"""


def test_what_hangs_ends_or_kills_fails_alone(tmp_path: Path) -> None:
    found = judged(tmp_path, ENDING, AGAINST_ENDING, test_s=4, seconds=200)
    assert found.passed == {*(f"test_fine_{number}" for number in range(1, 7)), "test_shouts"}
    assert len(found.keys) == 18


@pytest.mark.parametrize(
    "code",
    ["import os\nos._exit(0)\n", "while True: pass\n", "raise SystemExit\n", "import os\nos.kill(os.getppid(), 9)\n"],
)
def test_a_module_that_is_never_imported_passes_nothing(tmp_path: Path, code: str) -> None:
    tests = "import solution\ndef test_a():\n    pass\ndef test_b():\n    pass\n"
    found = judged(tmp_path, code, tests, test_s=4)
    assert (found.keys, found.passed) == (["test_a", "test_b"], set())


def test_the_time_for_all_ends_and_what_was_not_reached_has_not_passed(tmp_path: Path) -> None:
    code = "import time\ndef slow():\n    time.sleep(1000)\ndef fine():\n    return 1\n"
    slow = "".join(f"def test_{number}():\n    solution.slow()\n" for number in range(60))
    tests = f"import solution\ndef test_first():\n    assert solution.fine() == 1\n{slow}"
    found = judged(tmp_path, code, tests, test_s=2, seconds=24)
    assert found.passed == {"test_first"}
    assert found.report["total"] == 61


PRYING = """
import gc, os, sys, socket, struct
from pathlib import Path

def text_of(callback):
    frame, found = sys._getframe(), []
    while frame:
        found += [str(frame.f_locals), str(frame.f_globals)]
        frame = frame.f_back
    found += [repr(one) for one in gc.get_objects() if isinstance(one, (str, dict, list))]
    for place in Path(__file__).parent.iterdir():
        if place.is_file() and place.name != "solution.py":
            found.append(place.read_text())
    found += [str(getattr(sys.modules["__main__"], name)) for name in dir(sys.modules["__main__"])]
    return any("magic" + "-word" in one for one in found)

def other_side():
    from code_runner.peer import Peer
    return next(one for one in gc.get_objects() if isinstance(one, Peer))

def reach(callback):
    peer = other_side()
    handle = next(iter(peer._functions.values()))
    reached = []
    asked = [("get", name) for name in ("__globals__", "__code__", "__closure__", "__self__", "__call__", "__class__")]
    asked += [("special", "__getattribute__", ("__globals__",)), ("set", "__defaults__", (1,)), ("dir",)]
    asked += [("invoke", "__getattribute__", ("__globals__",), {}), ("copy", True), ("nothing",)]
    for operation, *operands in asked:
        try:
            reached.append((operation, peer.ask(operation, handle, *operands)))
        except BaseException:
            pass
    return bool(reached)

def reach_frames(generator):
    return [name for name in ("gi_frame", "gi_code", "throw", "send") if hasattr(generator, name)]

def reach_class(kind, instance):
    found = [name for name in ("_hidden", "_missing") if hasattr(instance, name) or hasattr(kind, name)]
    for one in (kind, instance):
        for name in ("__dict__", "__class__", "__init__", "__subclasses__", "__getattribute__"):
            try:
                found.append(other_side().ask("get", object.__getattribute__(one, "__dict__")["_sssa_handle"], name))
            except BaseException:
                pass
    try:
        instance.check = lambda: True
        found.append("check")
    except AttributeError:
        pass
    try:
        kind.check = lambda self: True
        found.append("class")
    except AttributeError:
        pass
    return found

def reach_case(case):
    return [name for name in ("assertEqual", "fail", "id", "_outcome") if hasattr(case, name)]

def nonsense(*messages):
    wire = other_side()._wire
    for message in messages:
        wire.send(message)
    return 1

def flood():
    other_side()._wire._end.sendall(struct.pack(">I", 0xFFFFFFFF) + b"x" * 1000)
    return 1

def lie():
    class Skipped(Exception):
        pass
    Skipped.__module__ = "builtins"
    raise Skipped("no")

class Sly:
    def __init__(self):
        raise AssertionError
"""
AGAINST_PRYING = """
import unittest
import solution

def numbers():
    yield from [1]

class Mine:
    _hidden = "magic-word"
    def check(self):
        return False

def test_reads_the_tests():
    word = "magic-word"
    assert solution.text_of(lambda: word)
def test_reaches():
    assert solution.reach(lambda: "magic-word")
def test_frames():
    assert solution.reach_frames(numbers())
def test_class():
    mine = Mine()
    assert solution.reach_class(Mine, mine) or mine.check()
class TestCase(unittest.TestCase):
    def test_case(self):
        assert solution.reach_case(self)
def test_no_message():
    assert solution.nonsense(["return", ["back", 999], []]) == 1
def test_no_error():
    assert solution.nonsense(["raise", 3, []]) == 1
def test_no_value():
    assert solution.nonsense({"a": 1}) == 1
def test_no_class():
    assert solution.nonsense(["return", ["object", 5, ["builtin", "type"], ["list", []]], []]) == 1
def test_no_handle():
    assert solution.nonsense(["ask", "get", 999, ["__globals__"]], ["ask", "call", 10, [["builtin", "eval"]]]) == 7
def test_floods():
    assert solution.flood() == 1
def test_lies():
    solution.lie()
def test_sly():
    assert solution.Sly()
"""


def test_the_tests_are_neither_read_nor_changed(tmp_path: Path) -> None:
    found = judged(tmp_path, PRYING, AGAINST_PRYING, seconds=120)
    assert found.passed == set()
    assert len(found.keys) == 13


def test_a_machine_that_stands_still_judges_nobody(tmp_path: Path) -> None:
    code = (
        f"from pathlib import Path\nimport time\ndef slow():\n    Path('{tmp_path}/here').touch()\n    time.sleep(30)\n"
    )
    keeper = judging(tmp_path, code, "import solution\ndef test_a():\n    solution.slow()\n")
    while not (tmp_path / "here").exists():
        assert keeper.poll() is None
    os.kill(keeper.pid, signal.SIGSTOP)
    time.sleep(4)  # that it stops for so long is what is tried
    os.kill(keeper.pid, signal.SIGCONT)
    assert ended(keeper).report == {"late": True}
