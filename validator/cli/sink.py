"""Where an export goes."""

import os
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

_PUBLIC: Final = 0o644


class Sink:
    """A file that is there whole or not at all, else standard output.

    Until it is whole the file has a name that nobody can foresee, and its owner alone may read it.

    Args:
        path: the file, None for standard output.
        public: whether anybody may read the file; else its owner alone.
    """

    def __init__(self, path: Path | None, *, public: bool = False) -> None:
        self._path = path
        self._public = public
        self._part: Path | None = None
        self._file: BinaryIO = sys.stdout.buffer

    def __enter__(self) -> Self:
        if self._path is not None:
            number, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
            self._part = Path(name)
            self._file = os.fdopen(number, "wb")
        return self

    def write(self, data: bytes) -> None:
        """Write one line."""
        self._file.write(data + b"\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is None or self._part is None:
            self._file.flush()
            return
        try:
            self._file.close()
            if kind is None:
                if self._public:
                    self._part.chmod(_PUBLIC)
                self._part.replace(self._path)
        finally:
            self._part.unlink(missing_ok=True)
