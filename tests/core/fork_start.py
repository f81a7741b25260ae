"""`validator` commands in forks of one process that has loaded the daemon: a start without its seconds of imports.

What a fork runs is `main`, in its own process, session, folder and environment; it ends as any process does.
Tests of the start itself, and of what is loaded when, start the program whole (`daemon_process.PROGRAM`).
"""

import array
import asyncio
import atexit
import gc
import importlib
import json
import multiprocessing
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

_LOADED: Final = (
    "rich.table",
    "validator.cli.audit",
    "validator.cli.doctor",
    "validator.cli.explain",
    "validator.cli.flags",
    "validator.cli.service",
    "validator.daemon.assembly",
    "validator.store.schema",
    "alembic.command",
    "bittensor.http_auth",
    "aiosqlite",
    "sqlalchemy.dialects.postgresql.psycopg",
)
FORKS: Final = multiprocessing.get_context("forkserver")
"""Starts functions of tests in the same way; it cannot load modules of tests first: it does not know their folders."""
FORKS.set_forkserver_preload(list(_LOADED))
_MOTHER: Final = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from fork_start import _serve
del sys.path[0]
_serve(int(sys.argv[1]))
from validator.cli import main
main()
"""
_NUMBER: Final = struct.Struct("<i")
_MOST: Final = 1 << 20  # bytes of a request


class Forked:
    """A command that runs, with as much of `asyncio.subprocess.Process` as tests use.

    Args:
        words: behind `validator`.
        out: file of its standard output and its standard error.
        err: file of its standard error, where that is another.
        cwd: where it runs.
        env: all of its environment; None for ours.

    Attributes:
        pid: of the process; the session that it leads has the same number.
    """

    def __init__(
        self,
        *arguments: str,
        out: IO[Any],
        err: IO[Any] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        asked = json.dumps([arguments, str(cwd or Path.cwd()), dict(os.environ if env is None else env)]).encode()
        self._report, report = os.pipe()
        try:
            files = (out.fileno(), (err or out).fileno(), report)
            _mother().sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
        finally:
            os.close(report)
        self._code: int | None = None
        self.pid = self._number()

    def __del__(self) -> None:
        os.close(self._report)

    @property
    def returncode(self) -> int | None:
        if self._code is None and select.select([self._report], [], [], 0)[0]:
            self._code = self._number()
        return self._code

    async def wait(self) -> int:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._report, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._report)
        return self.ended()

    def ended(self, seconds: float | None = None) -> int:
        """Wait for its end, in the way of whatever else this thread has to do.

        Raises:
            TimeoutError: it did not come in so many seconds.
        """
        if self._code is None and not select.select([self._report], [], [], seconds)[0]:
            raise TimeoutError
        code = self.returncode
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _number(self) -> int:
        told = os.read(self._report, _NUMBER.size)
        assert told, "the process that forks is gone"
        return int(_NUMBER.unpack(told)[0])


def ran(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, of a command."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = Forked(*arguments, out=out, err=err, cwd=cwd, env=env)
        try:
            code = process.ended(timeout)
        finally:
            process.kill()
        said = [_text(file) for file in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *said)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def _mother() -> socket.socket:
    """Start the process that forks; it ends with this one, however that ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _MOTHER, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(number: int) -> None:
    """Load what the daemon needs and fork a program for every request; return in each program."""
    for name in _LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a search would touch, and copy, every page
    assert threading.active_count() == 1, "a thread is not forked"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    with socket.socket(fileno=number) as requests:
        while True:
            asked, files, _, _ = socket.recv_fds(requests, _MOST, 3)
            if not asked:
                os._exit(0)
            if not os.fork():
                break
            for file in files:
                os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out, err, report = files
    program = os.fork()
    if program:
        _keep(program, (out, err), report)
    os.close(report)
    os.setsid()
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    arguments, cwd, environment = json.loads(asked)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments


def _keep(program: int, files: tuple[int, ...], report: int) -> None:
    """Tell who the program is, and how it ended."""
    for file in files:
        os.close(file)
    os.write(report, _NUMBER.pack(program))
    _, status = os.waitpid(program, 0)
    os.write(report, _NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)
