"""Reading the files that an operator names: not more than is allowed, and not waiting for what never comes."""

import codecs
import errno
import os
import select
import stat
import time
from pathlib import Path
from typing import Final

_WAIT_S: Final = 5.0
_WHOLE_S: Final = 30.0


def read_at_most(file: Path, most: int, wait_s: float = _WAIT_S, whole_s: float = _WHOLE_S) -> bytes:
    """Return a file's content, `most` + 1 bytes of one that is larger.

    A pipe is read to its end, as a shell makes them of `<(command)`; one that nobody writes to would hold up the start.

    Args:
        file: a file, a pipe or a device.
        most: bytes.
        wait_s: how long a pipe may say nothing.
        whole_s: how long it may take to its end, however much it says.

    Raises:
        TimeoutError: it is a pipe that said nothing for so long, or had no end in time.
        OSError: it cannot be read.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as stream:
        if not stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            with file.open("rb") as plain:
                return plain.read(most + 1)
        data, until = b"", time.monotonic() + whole_s
        while len(data) <= most:
            if not select.select([stream], [], [], wait_s)[0]:
                raise TimeoutError(0, f"a pipe that said nothing for {wait_s:g} s")
            if time.monotonic() > until:
                raise TimeoutError(0, f"a pipe that had no end within {whole_s:g} s")
            chunk = stream.read(most + 1 - len(data))
            if not chunk:
                break
            data += chunk
        return data


def one_line(data: bytes) -> str:
    """Return a secret's text as it stands in its file, without a line break behind it.

    Raises:
        ValueError: the text says what is wrong, and shows nothing of it.
    """
    if data.startswith(codecs.BOM_UTF8):
        raise ValueError("begins with a byte order mark; save it as UTF-8 without one")
    try:
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    if not text:
        raise ValueError("empty")
    if not text.isprintable():
        raise ValueError("holds control characters or several lines")
    return text


def from_home(path: Path) -> Path:
    """Return a path with the folder that a ~ in front stands for.

    Raises:
        FileNotFoundError: nobody knows that folder.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        raise FileNotFoundError(
            errno.ENOENT, f"no home folder is known for {path.parts[0]}; write the whole path", str(path)
        ) from None
