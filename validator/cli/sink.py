"""Where an export goes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

from validator.files import OWN, PUBLIC, new_file


@contextmanager
def sink(path: Path | None, *, public: bool = False) -> Iterator[Callable[[bytes], None]]:
    """Yield what writes a line: into a file that is there whole or not at all, else to standard output.

    Args:
        path: the file, None for standard output.
        public: whether anybody may read the file; else its owner alone.

    Raises:
        OSError: it cannot be written.
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
