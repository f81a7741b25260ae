"""Jobs of workers in tests: module-level names, so that a process can import them."""

import ctypes
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def spin() -> None:
    while True:
        pass


def spin_in_c() -> None:
    """Hold the GIL in one call of C code for years."""
    re.match(rb"(a+)+b", b"a" * 60)


def spin_for(cpu_s: float) -> float:
    until = time.process_time() + cpu_s
    while time.process_time() < until:
        pass
    return cpu_s


def grab(size: int) -> int:
    return len(bytearray(size))


def leave(code: int) -> None:
    os._exit(code)


def die_of(number: int) -> None:
    os.kill(os.getpid(), number)


def crash() -> None:
    ctypes.string_at(0)


def stop_once(file: Path) -> str:
    """Stand still, but not the second time."""
    if file.exists():
        return "went on"
    file.touch()
    os.kill(os.getpid(), signal.SIGSTOP)
    return "was woken"


def die_times(file: Path, number: int, times: int, call: Callable[[], T]) -> T:
    """Die of a signal the first times; a file counts them. What it then returns is the call's."""
    deaths = file.stat().st_size if file.exists() else 0
    if deaths < times:
        with file.open("a") as counted:
            counted.write(".")
        os.kill(os.getpid(), number)
    return call()


def swell_then_die_of(file: Path, number: int) -> None:
    """Run out of memory, and from the second time on die of a signal."""
    if file.exists():
        os.kill(os.getpid(), number)
    file.touch()
    grab(1 << 40)


def hang_up() -> None:
    """Close the socket to the pool, and continue."""
    os.closerange(3, 64)
    signal.pause()


def note(file: Path, what: str) -> None:
    with file.open("a") as lines:
        lines.write(f"{what}\n")


def echo(data: bytes) -> bytes:
    return data


def weigh(data: bytes) -> int:
    return len(data)


class StubbornError(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one + two)


def stubborn() -> None:
    raise StubbornError(1, 2)


def wrong(number: int) -> float:
    return 1 / number


def surroundings() -> tuple[int, int, dict[str, str]]:
    return os.getpid(), os.nice(0), dict(os.environ)
