"""One traced process, from outside: start it, read its trace channel within bounds, kill its whole group."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tracer.places import DECOYS, Folder
from tracer.records import Probes, Record, Records, TracingError, is_record

Mode = Literal["none", "function", "server", "script"]
Ended = Literal["done", "failed", "killed", "timeout", "flooded"]
Talk = Callable[[asyncio.StreamWriter, asyncio.StreamReader], Awaitable[None]]
TextLine = Callable[[str, float], list[tuple[str, Record]]]

MAX_TRACE_BYTES: Final = 4 * 1024 * 1024
MAX_CLAIMED_BYTES: Final = 512 * 1024
_MAX_LINE: Final = 8_192
_CHUNK: Final = 65_536
_REAP_S: Final = 5.0
_GOODBYE_S: Final = 0.5  # for a server whose stdin was closed
_START: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from tracer.inside.bootstrap import main; "
    "del sys.path[0]; main(sys.argv[2:])"
)
_PACKAGES: Final = str(Path(__file__).resolve().parents[1])
_SEEN: Final = frozenset(("network", "fs", "process", "secrets"))
_CLAIMED: Final = frozenset(("network", "secrets", "imports"))


@dataclass(frozen=True, slots=True)
class Launch:
    """Process to start.

    Attributes:
        mode: how; `none` performs the probes only.
        entry: `module:function`, or a path in the skill's folder.
        folder: the skill's folder, relative to the bundle ("" is the bundle itself).
        probe: probes to perform first; None leaves them out.
    """

    mode: Mode
    entry: str = ""
    folder: str = ""
    probe: Probes | None = None


class Timing(NamedTuple):
    """`started`: `time.monotonic()` that every `ts` counts from; `timeout_s`: seconds of wall time from now."""

    started: float
    timeout_s: float


@dataclass(slots=True)
class Run:
    """Records of one process.

    Attributes:
        records: trace name to records, in the order they came.
        ended: how it ended; `failed` is an exception or an exit status other than 0.
        detail: the exception's type and text, made printable.
    """

    records: Records = field(default_factory=dict)
    ended: Ended = "killed"
    detail: str = ""


async def run_process(
    folder: Folder,
    launch: Launch,
    timing: Timing,
    *,
    talk: Talk | None = None,
    text_line: TextLine | None = None,
) -> Run:
    """Run one skill until it ends, its time is up or its trace channel is full; nothing of it runs on afterwards.

    Args:
        folder: where its files are.
        launch: what to start.
        timing: when it started, and its wall time.
        talk: speaks to it over stdin and stdout; when it returns, stdin is closed.
        text_line: turns lines of the channel that are no records (bash's tracing) into some.

    Raises:
        TracingError: the process could not be started.
    """
    process, claims = await _spawn(folder, launch, timing, pipes=talk is not None)
    run = Run()
    channels = _Channels(folder, run, timing.started, text_line)
    claiming = asyncio.ensure_future(channels.read(claims, channels.take_claim, MAX_CLAIMED_BYTES))
    reader = asyncio.ensure_future(channels.read(_trace_of(process), channels.take_seen, MAX_TRACE_BYTES))
    try:
        async with asyncio.timeout(timing.timeout_s):
            if talk is not None:
                await _converse(process, talk, reader)
            async with asyncio.timeout(None if talk is None else _GOODBYE_S):
                await asyncio.wait({reader, claiming}, return_when=asyncio.FIRST_COMPLETED)
                if not reader.done() and run.ended != "flooded":
                    await reader
    except TimeoutError:
        run.ended = "timeout"
    finally:
        _kill_group(process)
        await asyncio.wait({reader, claiming}, timeout=_REAP_S)  # nobody is left to write: what they hold is soon read
        await _cancel(reader)
        await _cancel(claiming)
        await _reap(process)
    return run


async def _spawn(
    folder: Folder, launch: Launch, timing: Timing, *, pipes: bool
) -> tuple[asyncio.subprocess.Process, asyncio.StreamReader]:
    """Start the watcher; its stderr is the trace, and another pipe what the skill itself tells."""
    where = folder.skill / launch.folder
    cpu_s = ceil(timing.timeout_s) + 1
    ours, theirs = os.pipe()
    arguments = [f"{timing.started:.6f}", str(cpu_s), str(theirs), str(folder.base), str(where)]
    arguments += [launch.mode, launch.entry, *(launch.probe or ())]
    channel = asyncio.subprocess.PIPE if pipes else asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-s", "-S", "-P", "-B", "-c", _START, _PACKAGES),
            *arguments,
            stdin=channel,
            stdout=channel,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(theirs,),
            cwd=where,
            env=folder.environment(),
            start_new_session=True,
            limit=_CHUNK * 4,
        )
    except (OSError, ValueError) as error:
        os.close(ours)
        raise TracingError(str(error)) from error
    finally:
        os.close(theirs)
    claims = asyncio.StreamReader(limit=_CHUNK * 4)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(claims), os.fdopen(ours, "rb"))
    return process, claims


def _trace_of(process: asyncio.subprocess.Process) -> asyncio.StreamReader:
    assert process.stderr is not None  # noqa: S101 - it was asked for
    return process.stderr


class _Channels:
    """Reads the watcher's channel, and the skill's own, of which nothing is taken that the watcher sees."""

    def __init__(self, folder: Folder, run: Run, started: float, text_line: TextLine | None) -> None:
        self._folder = folder
        self._run = run
        self._started = started
        self._text_line = text_line

    async def read(self, stream: asyncio.StreamReader, take: Callable[[bytes], bool], most: int) -> None:
        """Read lines until one is the last; a channel that is full ends the run."""
        pending, total = b"", 0
        while chunk := await stream.read(_CHUNK):
            total += len(chunk)
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                if len(line) <= _MAX_LINE and take(line):
                    return
            if total > most or len(pending) > _MAX_LINE:
                self._run.ended = "flooded"
                return

    def take_seen(self, line: bytes) -> bool:
        """Enter one line of the watcher; return whether it was the last one."""
        name, fields = _parse(line)
        if name == "end":
            status = fields.get("status")
            if self._run.ended not in ("flooded", "timeout"):
                self._run.ended = "done" if status == 0 else "killed" if status is not None and status < 0 else "failed"
            return True
        if name == "full":
            self._run.ended = "flooded"
        elif name in _SEEN and is_record(name, fields):
            self._enter(name, self._folder.public_record(fields))
            if name == "process":
                self._enter_decoys(fields)
        return False

    def take_claim(self, line: bytes) -> bool:
        """Enter one line of the skill's own process: its imports, variables and lookups, or bash's tracing."""
        name, fields = _parse(line)
        if name == "error":
            text = self._folder.public(f"{fields.get('type')}: {fields.get('detail')}")
            self._run.detail = text.encode("ascii", "backslashreplace").decode()
        elif name in _CLAIMED and is_record(name, fields) and _may_claim(name, fields):
            self._enter(name, self._folder.public_record(fields))
        elif self._text_line is not None:
            now = round(max(time.monotonic() - self._started, 0.0), 6)
            for kind, record in self._text_line(self._folder.public(line.decode("utf-8", "replace")), now):
                self._enter(kind, record)
        return False

    def _enter_decoys(self, fields: dict[str, Any]) -> None:
        for name, value in DECOYS.items():
            if value in str(fields.get("cmd")):
                self._enter("secrets", {"type": "env", "pattern": name, "ts": fields["ts"]})

    def _enter(self, name: str, record: Record) -> None:
        self._run.records.setdefault(name, []).append(record)


def _may_claim(name: str, fields: dict[str, Any]) -> bool:
    return {"network": "domain" in fields, "secrets": fields.get("type") == "env"}.get(name, True)


def _parse(line: bytes) -> tuple[str, dict[str, Any]]:
    if line.startswith(b"["):
        with contextlib.suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], dict):  # noqa: PLR2004 - a pair
                return entry[0], entry[1]
    return "", {}


async def _converse(process: asyncio.subprocess.Process, talk: Talk, reader: "asyncio.Future[None]") -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    assert process.stdout is not None  # noqa: S101 - it was asked for
    talking = asyncio.ensure_future(talk(process.stdin, process.stdout))
    try:
        await asyncio.wait({talking, reader}, return_when=asyncio.FIRST_COMPLETED)
        if talking.done():
            talking.result()
    finally:
        await _cancel(talking)
        process.stdin.close()


async def _cancel(task: "asyncio.Future[None]") -> None:
    """Cancel the task and wait until it has let go of its stream; its own outcome was already looked at."""
    task.cancel()
    await asyncio.wait({task})


def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill the whole group; its leader waits for that, so the number is still its own."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _reap(process: asyncio.subprocess.Process) -> None:
    streams = [stream for stream in (process.stdout, process.stderr) if stream is not None]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAP_S):
            await asyncio.gather(*map(_drain, streams))
            await process.wait()


async def _drain(stream: asyncio.StreamReader) -> None:
    """Read to the end: a pipe that still holds something would keep `wait` from returning."""
    while await stream.read(_CHUNK):
        continue
