"""The password of an encrypted hotkey, read from a file of its own: never from a variable, an argument or a prompt."""

import os
import stat
from pathlib import Path
from typing import Final

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.settings.reading import from_home, one_line

MAX_BYTES: Final = 4 * 1024
# Its owner's alone, or its group may read it: what else a container's user reads a mounted secret by.
_TOO_OPEN: Final = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP


class PasswordFileError(ValidatorError):
    """The file of the hotkey's password cannot be used."""


def read_password(file: Path) -> str:
    """Return what stands in the file, without the line break behind it.

    Raises:
        PasswordFileError: it is not there, no plain file, open to others, empty or no one line of UTF-8. The text
            names the file and never shows any of it.
    """
    place = printable(str(file))
    try:
        file = from_home(file)
        # A pipe without a writer must not hold up the start.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise PasswordFileError(f"{place}: not a plain file")
            if found.st_mode & _TOO_OPEN:
                mode = stat.S_IMODE(found.st_mode)
                raise PasswordFileError(f"{place}: mode {mode:o} lets others at it; chmod 400 {place}")
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise PasswordFileError(f"{place}: {error.strerror or error}; see wallet.password_file") from None
    if len(data) > MAX_BYTES:
        raise PasswordFileError(f"{place}: larger than {MAX_BYTES} bytes")
    try:
        return one_line(data)
    except ValueError as error:
        raise PasswordFileError(f"{place}: {error}") from None
