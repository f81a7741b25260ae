"""The image's entry point: `python -m validator.daemon.entrypoint run …`.

An engine restarts what ends and cannot tell exit codes apart. Here a program that would end in the same way again
(`Exit.parks`) stays instead, unhealthy, until it is asked to stop. Any other exit code is passed on.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Final

from validator.daemon.exits import Exit

_LASTING: Final = ("run", "worker")  # what an engine restarts; other commands are somebody's at a terminal
_PARKED: Final = frozenset(int(code) for code in Exit if code.parks)
_CHUNK: Final = 4096
_MOST_REASON: Final = 2_000  # bytes
_READ_S: Final = 1.0


class Program:
    """A program in its own process, which gets SIGTERM and SIGINT.

    It has its own process group: a terminal's Ctrl-C would else reach it twice, which means at once.
    """

    def __init__(self) -> None:
        self.stop_requested = False
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: Sequence[str]) -> tuple[int, str]:
        """Return the exit code, 128 and the signal's number for one that a signal ended, and its last line.

        Raises:
            OSError: it cannot be started.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._take)
        self._process = subprocess.Popen(  # noqa: S603 - this program
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0
        )
        if self.stop_requested:
            self._process.terminate()
        last_line = _Copy(self._process.stderr)
        last_line.start()
        code = self._process.wait()
        last_line.join(_READ_S)  # what it started may hold its standard error open
        return (code if code >= 0 else 128 - code), last_line.last()

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self.stop_requested = True
        if self._process is not None:
            self._process.send_signal(number)


class _Copy(threading.Thread):
    """Copies a stream to standard error and keeps its end. A thread, since a reader of standard error may stop."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__(name="stderr", daemon=True)
        self._stream = stream
        self._last = b""

    def run(self) -> None:
        while self._stream is not None and (chunk := os.read(self._stream.fileno(), _CHUNK)):
            self._last = (self._last + chunk)[-_MOST_REASON:]
            sys.stderr.buffer.write(chunk)
            sys.stderr.buffer.flush()

    def last(self) -> str:
        return "; ".join(line.strip() for line in self._last.decode(errors="replace").splitlines() if line.strip())


def main(arguments: Sequence[str]) -> int:
    """Run `validator` with these arguments and return the exit code.

    Raises:
        OSError: the program is not next to this interpreter.
    """
    command = [str(Path(sys.executable).with_name("validator")), *arguments]
    if not arguments or arguments[0] not in _LASTING:
        os.execv(command[0], command)  # noqa: S606 - the arguments are the operator's own
    program = Program()
    code, reason = program.run(command)
    if program.stop_requested or code not in _PARKED:
        return code

    from validator.daemon.parking import park  # noqa: PLC0415 - half of the program, in vain where nothing goes wrong

    return park(Exit(code), reason, arguments, lambda: program.stop_requested)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
