"""One worker process as the pool sees it."""

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from validator.workers.budget import Budget
from validator.workers.frames import EXIT_NO_MEMORY, EXIT_OURS, MAX_REPLY, RAISED, READY, REPLY, REQUEST, SWOLLEN, Hello
from validator.workers.interface import Reached, WorkersError

_ENDS: Final[dict[int | None, Reached]] = {
    -signal.SIGPROF: "cpu",
    -signal.SIGKILL: "killed",  # no budget ends a worker so: the machine does
    EXIT_NO_MEMORY: "memory",
    EXIT_OURS: "fault",
}
_START_S: Final = 60.0
_REAP_S: Final = 2.0
_LOOK_S: Final = 0.002
_NICE: Final = 5
# What is large is mapped on its own and given back when it is freed, so that one call leaves the next its memory.
_ALLOCATOR: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class WorkerEndedError(Exception):
    """The worker is dead.

    Attributes:
        reached: what it ran out of, `died` for a crash; `killed` (by the machine), `wall` (it stood still) and `fault`
            (it failed by itself) are ours.
        how: the signal or exit code, for people.
    """

    def __init__(self, reached: Reached, how: str) -> None:
        super().__init__(how)
        self.reached: Reached = reached
        self.how = how

    @property
    def ours(self) -> bool:
        """Whether what was asked is not to blame."""
        return self.reached in {"killed", "wall", "fault"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a pickled result, or with `raised` a pickled error and where it was raised."""

    raised: bool
    data: bytearray


class Worker:
    """A process and the socket to it. `spawn` makes one, which `ready` waits for; it must be ended."""

    def __init__(self, process: subprocess.Popen[bytes], link: socket.socket) -> None:
        self.process = process
        self._link = link
        self._talking = False
        self.usable = True

    @classmethod
    def spawn(cls) -> "Worker":
        """Start a process, in the event loop's thread: the kernel ends it with the thread that made it.

        Raises:
            OSError: no process can be had.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = _spawn(theirs)
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)
        return cls(process, ours)

    async def ready(self, preload: tuple[str, ...]) -> None:
        """Wait until the process takes calls.

        Raises:
            WorkersError: it ended before.
        """
        hello = pickle.dumps(Hello(tuple(sys.path), preload, _NICE))
        try:
            async with asyncio.timeout(_START_S), self._talk():
                await self._send(REPLY.pack(READY, len(hello)), hello)
                await self._receive(REPLY.size)
        except (OSError, EOFError, TimeoutError):
            code = await self._reaped() or await self.end()
            raise WorkersError(f"a worker ended before it was ready: {_how(code)}") from None

    async def ask(self, call: bytes, budget: Budget) -> Reply:
        """Have a pickled call made. After any error the process must be ended.

        Raises:
            WorkerEndedError: it died, or stood still for longer than the budget allows.
        """
        try:
            async with asyncio.timeout(budget.wall_s), self._talk():
                return await self._exchange(call, budget)
        except TimeoutError:
            raise WorkerEndedError("wall", f"no answer within {budget.wall_s:g} s") from None
        except (OSError, EOFError):
            raise await self._ended() from None

    async def _exchange(self, call: bytes, budget: Budget) -> Reply:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # reading tells more
            await self._send(REQUEST.pack(len(call), budget.cpu_s, budget.memory), call)
        status, size = REPLY.unpack(await self._receive(REPLY.size))
        if size > MAX_REPLY:
            raise WorkerEndedError("died", f"a reply of {size} bytes")
        data = await self._receive(size)
        if status >= SWOLLEN:
            status -= SWOLLEN
            self.usable = False
        return Reply(status == RAISED, data)

    async def _ended(self) -> WorkerEndedError:
        """Return why the process ended by itself; what only closed its socket is ended, and that kill is our own."""
        code = await self._reaped()
        if code is None:
            await self.end()
            return WorkerEndedError("died", "it closed its socket")
        return WorkerEndedError(_ENDS.get(code, "died"), _how(code))

    def kill(self) -> None:
        """End the process without waiting for it; who waits for an answer hears of it."""
        self.usable = False
        self.process.kill()
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    async def end(self) -> int | None:
        """End the process; return its exit code, None if the kernel holds on to it."""
        self.kill()
        return await self._reaped()

    @asynccontextmanager
    async def _talk(self) -> AsyncIterator[None]:
        """Keep the socket open meanwhile: the event loop would wait for ever for one that was closed."""
        self._talking = True
        try:
            yield
        finally:
            self._talking = False
            if not self.usable:
                self._link.close()

    async def _reaped(self) -> int | None:
        self.usable = False
        if not self._talking:
            self._link.close()
        until = asyncio.get_running_loop().time() + _REAP_S
        while (code := self.process.poll()) is None and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110 - nothing tells of it on every platform
            await asyncio.sleep(_LOOK_S)
        return code

    async def _send(self, *parts: bytes) -> None:
        for part in parts:
            await asyncio.get_running_loop().sock_sendall(self._link, part)

    async def _receive(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = await asyncio.get_running_loop().sock_recv_into(self._link, view)
            if not got:
                raise EOFError
            view = view[got:]
        return data


def _spawn(link: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process: nothing but the socket, an environment without secrets, a process group of its own."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    descriptor = link.fileno()
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-m", "validator.workers.child", str(descriptor), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # a dying library prints what it likes
        pass_fds=(descriptor,),
        env={**kept, **_ALLOCATOR, "PYTHONPATH": os.pathsep.join(sys.path)},
        process_group=0,
    )


def _how(code: int | None) -> str:
    if code is None:
        return "it does not end"
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
