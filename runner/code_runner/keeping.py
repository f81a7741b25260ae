"""The keeper's work: starts the linter and judge processes over a stranger's module, within time limits; no files."""

import json
import selectors
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from code_runner.confine import kill_all_others
from code_runner.lint import LintLateError, findings
from code_runner.starting import Order, environment, python

TEST_S: Final = 10.0
_SLACK_S: Final = 3.0  # for a judge to say that a test took too long, before it is taken for dead
_LOOK_S: Final = 0.5
_STILL_S: Final = 3.0  # far more than the strangers' processes, which give way, can delay this one
_MOST_LINE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of judging.

    Attributes:
        seconds: for all tests.
        memory: bytes of address space of the module's process.
        test_s: seconds for each test.
    """

    seconds: float
    memory: int
    test_s: float = TEST_S


class LateError(Exception):
    """The machine stood still, or was too slow before anything of the stranger's ran."""


class SilentError(LateError):
    """A judge wrote nothing for too long, or the time is over."""


@dataclass(slots=True)
class Judged:
    """Result of judging.

    Attributes:
        keys: every test of the task.
        passed: those that passed.
        findings: of the linter.
        fault: why the tests judge nothing; empty if they do.
        late: whether the machine stood still, or was too slow to start the judging.
        loaded: whether the stranger's module has run.
    """

    keys: list[str] = field(default_factory=list)
    passed: set[str] = field(default_factory=set)
    findings: int = 0
    fault: str = ""
    late: bool = False
    loaded: bool = False

    def report(self) -> dict[str, Any]:
        """Return the report as the validator reads it."""
        if self.late:
            return {"late": True}
        if self.fault:
            return {"fault": self.fault}
        return {"passed": len(self.passed), "total": len(self.keys), "findings": self.findings}


def judge_code(code: bytes, file: str, tests: str, budget: Budget) -> Judged:
    """Return the result of tests and linter on the code, which is also in the file."""
    try:
        return _judged(code, file, tests, budget)
    except (LateError, LintLateError):
        return Judged(late=True)


def _judged(code: bytes, file: str, tests: str, budget: Budget) -> Judged:
    deadline = time.monotonic() + budget.seconds
    judged = Judged(findings=findings(code))
    with _judge(Order(tests, None, file, budget.memory, budget.test_s), deadline) as (process, lines):
        match next(lines, None):
            case ["tests", list(keys)]:
                judged.keys = keys
            case ["fault", str(fault)]:
                judged.fault = fault
            case None if process.wait() >= 0:  # nobody but the kernel kills it here
                judged.fault = "importing the tests ends the interpreter"
            case _:
                judged.late = True
    remaining = list(judged.keys)
    latest = deadline - budget.seconds / 2  # the linter alone, whatever it reads, does not take that long
    while remaining and _round(
        judged, remaining, Order(tests, [*remaining], file, budget.memory, budget.test_s), latest, deadline
    ):
        pass
    return judged


def _round(judged: Judged, remaining: list[str], order: Order, latest: float, deadline: float) -> bool:
    """Run the remaining tests in one judge; return whether another judge should run the rest."""
    begun = None
    with _judge(order, deadline) as (_, lines):
        for line in _timely(judged, lines, latest):
            match line:
                case ["begin", str(key)]:
                    begun = key
                case ["end", str(key), bool(passed)] if key in remaining:
                    remaining.remove(key)
                    begun = None
                    if passed:
                        judged.passed.add(key)
                case ["done"]:
                    return False
    if begun in remaining:
        remaining.remove(begun)
        return True
    return len(remaining) < len(order.keys or ())


def _timely(judged: Judged, lines: Iterator[Any], latest: float) -> Iterator[Any]:
    """Yield what a judge writes, until it ends or is silent.

    Raises:
        LateError: it was silent before the module was loaded, or loaded it only after `latest`. Once the module has
            run, no judge is late: else a stranger could delay those that judge it.
    """
    try:
        for line in lines:
            if line == ["late"] or (line == ["loading"] and not judged.loaded and time.monotonic() > latest):
                raise SilentError
            judged.loaded = judged.loaded or line == ["loading"]
            yield line
    except SilentError:
        if not judged.loaded:
            raise


@contextmanager
def _judge(order: Order, deadline: float) -> Iterator[tuple[subprocess.Popen[bytes], Iterator[Any]]]:
    """Start a judge; yield it and its messages. Everything that it started ends with it."""
    here, there = socket.socketpair()  # which, unlike a pipe, nobody can open by /proc
    with here:
        process = subprocess.Popen(
            python("code_runner.judge", str(there.fileno())),
            pass_fds=[there.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        there.close()
        try:
            with suppress(OSError):  # it has ended before it was told
                here.sendall(order.encoded())
                here.shutdown(socket.SHUT_WR)
            yield process, _lines(here, order.test_s + _SLACK_S, deadline)
        finally:
            kill_all_others()


def _lines(out: socket.socket, patience_s: float, deadline: float) -> Iterator[Any]:
    """Yield what a judge writes until it ends.

    Raises:
        SilentError: it was silent for too long, or the time is over.
        LateError: this process stood still meanwhile.
    """
    kept = bytearray()
    heard = looked = time.monotonic()
    with selectors.DefaultSelector() as waiting:
        waiting.register(out, selectors.EVENT_READ)
        while looked < min(deadline, heard + patience_s):
            ready = waiting.select(_LOOK_S)
            before, looked = looked, time.monotonic()
            if looked - before > _LOOK_S + _STILL_S:
                raise LateError
            if not ready:
                continue
            heard = looked
            try:
                piece = out.recv(65_536)
            except ConnectionResetError:  # it has ended before it read its order
                return
            if not piece or len(kept) > _MOST_LINE:
                return
            kept += piece
            *lines, kept = kept.split(b"\n")
            for line in lines:
                yield json.loads(line)
    raise SilentError
