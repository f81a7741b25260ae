"""The judge's side of the conversation: `import solution` in a test starts the host process and yields mirrors."""

import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from code_runner.mirror import SPECIALS
from code_runner.peer import Peer
from code_runner.starting import NAME, environment, python
from code_runner.wire import Wire, WireError

TESTS: Final = "test_task"
_MOST_PRINTED: Final = 1_000_000  # characters that a module may print


class Session(Peer):
    """A conversation with a stranger's module, which may do to objects of the tests only what `permit` lets it.

    Args:
        wire: to the module's process.

    Attributes:
        broken: whether the module's process is gone or talks nonsense; what is not finished by then has failed.
    """

    def __init__(self, wire: Wire) -> None:
        super().__init__(wire, strict=True)
        self.broken = False
        self._room = _MOST_PRINTED

    def ask(self, operation: str, handle: int, *operands: Any) -> Any:
        """Return the result of an operation; see `Peer.ask`."""
        try:
            return super().ask(operation, handle, *operands)
        except WireError:
            self.broken = True
            raise

    def printed(self, text: str) -> None:
        """Print what the module printed, up to a bound, so that tests can look at it."""
        sys.stdout.write(text[: self._room])
        self._room = max(0, self._room - len(text))

    def permit(self, value: Any, operation: str, name: str) -> None:
        """Let the module call, iterate and compare what tests hand it, and use their own objects as such.

        Nothing that begins with an underscore is reached, and of what the tests did not define themselves no
        attribute: from a function's or a generator's there is a way to everything.
        """
        kind = value if isinstance(value, type) else type(value)
        own = kind.__module__ == TESTS and not issubclass(kind, unittest.TestCase)
        match operation:
            case "special":
                allowed = name in SPECIALS
            case "call":
                allowed = own or not isinstance(value, type)
            case "get" | "invoke":
                allowed = not name.startswith("_") and (own or kind in {io.StringIO, io.BytesIO})
            case "set":
                allowed = own and value is not kind and not name.startswith("_") and not hasattr(kind, name)
            case "await":
                allowed = inspect.iscoroutine(value)
            case "copy":
                allowed = own
            case _:
                allowed = operation == "plain"
        if not allowed:
            raise AttributeError(f"the solution may not {operation} {name} of an object of the tests")


class Solution(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the module `solution` from its own process.

    Args:
        file: the stranger's module.
        memory: bytes of address space that its process may take.
        loading: called once, when its process waits for the order to run it.
    """

    def __init__(self, file: str, memory: int, loading: Callable[[], None]) -> None:
        self._file = file
        self._memory = memory
        self._loading = loading
        self._session: Session | None = None

    @property
    def broken(self) -> bool:
        """True if the module's process has ended or violates the protocol."""
        return self._session is not None and self._session.broken

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return how the module is loaded."""
        return importlib.util.spec_from_loader(name, self) if name == NAME else None

    def exec_module(self, module: ModuleType) -> None:
        """Load the module in its process, and install its mirror here."""
        if self._session is None:
            self._session = self._start()
            self._session.ask("dir", 1)
            self._loading()
        solution = self._session.ask("invoke", 1, "load", (), {})
        sys.modules[module.__name__] = solution

    def _start(self) -> Session:
        here, there = socket.socketpair()
        with there:
            subprocess.Popen(
                python("code_runner.host", str(there.fileno()), self._file, str(self._memory)),
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
                cwd=tempfile.gettempdir(),
                start_new_session=True,
            )
        return Session(Wire(here))
