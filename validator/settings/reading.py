"""Reading the files that an operator names: not more than is allowed, and not waiting for what never comes."""

import os
import select
import stat
from pathlib import Path
from typing import Final

_WAIT_S: Final = 5.0


def read_at_most(file: Path, most: int, wait_s: float = _WAIT_S) -> bytes:
    """Return a file's content, `most` + 1 bytes of one that is larger.

    A pipe is read to its end, as a shell makes them of `<(command)`; one that nobody writes to would hold up the start.

    Args:
        file: a file, a pipe or a device.
        most: bytes.
        wait_s: how long a pipe may say nothing.

    Raises:
        TimeoutError: it is a pipe that said nothing for so long.
        OSError: it cannot be read.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as stream:
        if not stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            with file.open("rb") as plain:
                return plain.read(most + 1)
        data = b""
        while len(data) <= most:
            if not select.select([stream], [], [], wait_s)[0]:
                raise TimeoutError(0, f"a pipe that said nothing for {wait_s:g} s")
            chunk = stream.read(most + 1 - len(data))
            if not chunk:
                break
            data += chunk
        return data
