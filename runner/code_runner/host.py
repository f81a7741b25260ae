"""The host: the process that the stranger's module lives in. It has no secret, and its messages are not trusted.

`python -m code_runner.host SOCKET FILE MEMORY` imports the file as `solution` when it is asked to, and serves its
objects.
"""

import importlib.util
import io
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from code_runner.confine import end_with_parent, take_little
from code_runner.peer import Peer
from code_runner.starting import NAME
from code_runner.wire import Wire, WireError

_MOST_PRINTED: Final = 65_536  # characters of one message


class _Out(io.TextIOBase):
    """Standard output of the module, which the tests may look at."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def write(self, text: str) -> int:
        for start in range(0, len(text), _MOST_PRINTED):
            self._wire.send(["printed", text[start : start + _MOST_PRINTED]])
        return len(text)

    def writable(self) -> bool:
        return True


class _Loader:
    """First message to the judge, which loads the module."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def load(self) -> ModuleType:
        """Return the module, imported."""
        spec = importlib.util.spec_from_file_location(NAME, self._file)
        if spec is None or spec.loader is None:
            raise ImportError(NAME)
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        spec.loader.exec_module(module)
        return module


def main(descriptor: str, file: str, memory: str) -> None:
    """Serve until the judge is gone."""
    end_with_parent()
    take_little(int(memory))
    wire = Wire(socket.socket(fileno=int(descriptor)))
    peer: Any = Peer(wire, strict=False)
    sys.stdout = _Out(wire)
    peer.give(_Loader(Path(file)))
    try:
        peer.serve()
    except WireError:
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
