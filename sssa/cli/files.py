"""Reading of files that commands are given, within bounds, and writing of files whole or not at all."""

import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from sssa.files import OWN, PUBLIC, new_file, write_file
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MIB
from sssa.protocol.text import printable

MAX_CASE: Final = 64 * MIB


class UnreadableError(ValidatorError):
    """A file cannot be read."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{printable(name)}: {printable(fault, 400)}")
        self.fault = printable(fault, 400)


def read_case(name: str) -> bytes:
    """Return the content of a regular file, or of standard input for `-`, at most `MAX_CASE` bytes.

    Raises:
        UnreadableError: it cannot be read, is larger, or is a pipe or device, which could continue for ever.
    """
    if name == "-":
        if sys.stdin is None:
            raise UnreadableError(name, "standard input is closed")
        data = sys.stdin.buffer.read(MAX_CASE + 1)
    else:
        path = Path(name)
        require_regular(path, MAX_CASE)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_CASE + 1)
        except OSError as error:
            raise UnreadableError(name, error.strerror or str(error)) from None
    if len(data) > MAX_CASE:
        raise UnreadableError(name, f"larger than {MAX_CASE} bytes")
    return data


def require_regular(path: Path, limit: int | None = None) -> None:
    """Check a file before it is opened (UnreadableError: no regular file, or larger than `limit` bytes)."""
    name = str(path)
    try:
        facts = path.stat()
    except (OSError, ValueError) as error:
        raise UnreadableError(name, getattr(error, "strerror", None) or "bad name") from None
    if stat.S_ISDIR(facts.st_mode):
        raise UnreadableError(name, "Is a directory")
    if not stat.S_ISREG(facts.st_mode):
        raise UnreadableError(name, "is no regular file; `-` reads standard input where a command takes it")
    if limit is not None and facts.st_size > limit:
        raise UnreadableError(name, f"larger than {limit} bytes")


def write_bytes(data: bytes, path: Path | None) -> None:
    """Write a file, whole or not at all, or standard output as it is (OSError: it cannot be written)."""
    if path is not None:
        write_file(path.resolve(), data, mode=None, replace=True)
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@contextmanager
def line_writer(path: Path | None, *, public: bool = False) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes a line into a new file, which exists whole or not at all, or to standard output.

    Anybody may read a public file, its owner alone another one.
    """
    if path is None:
        try:
            yield partial(_write, sys.stdout.buffer)
        finally:
            sys.stdout.buffer.flush()
        return
    with new_file(path, mode=PUBLIC if public else OWN, replace=True) as stream:
        yield partial(_write, stream)


def _write(stream: BinaryIO, line: bytes) -> None:
    stream.write(line + b"\n")
