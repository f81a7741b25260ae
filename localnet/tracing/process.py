"""One traced process, from outside: start it, read its trace channel within bounds, kill its whole group."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

import validator
from localnet.tracing.places import Folder
from localnet.tracing.records import Record, Records, TracingError, is_record
from validator.protocol.answer import ProbeEvidence
from validator.protocol.text import printable

Mode = Literal["none", "function", "server", "script"]
Ended = Literal["done", "failed", "killed", "timeout", "flooded"]
Talk = Callable[[asyncio.StreamWriter, asyncio.StreamReader], Awaitable[None]]
TextLine = Callable[[str, float], list[tuple[str, Record]]]

MAX_CHANNEL_BYTES: Final = 1024 * 1024
_MAX_LINE: Final = 8_192
_CHUNK: Final = 65_536
_REAP_S: Final = 5.0
_GOODBYE_S: Final = 0.5  # for a server whose stdin was closed
_START: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); from localnet.tracing.inside.bootstrap import main; "
    "del sys.path[0]; sys.dont_write_bytecode = True; main(sys.argv[2:])"
)
_PACKAGES: Final = str(Path(validator.__file__).resolve().parents[1])


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start.

    Attributes:
        mode: how; `none` performs the probes only.
        entry: `module:function`, or a path in the skill's folder.
        folder: the skill's folder, relative to the bundle ("" is the bundle itself).
        probe: probes to perform first; None leaves them out.
    """

    mode: Mode
    entry: str = ""
    folder: str = ""
    probe: ProbeEvidence | None = None


class Timing(NamedTuple):
    """`started`: `time.monotonic()` that every `ts` counts from; `timeout_s`: seconds of wall time from now."""

    started: float
    timeout_s: float


@dataclass(slots=True)
class Run:
    """What one process left.

    Attributes:
        records: trace name to records, in the order they came.
        ended: how it ended; `failed` is an exception or an exit status other than 0.
        detail: the exception's type and text, made printable.
        isolated: whether it had its own network and process namespace.
    """

    records: Records = field(default_factory=dict)
    ended: Ended = "killed"
    detail: str = ""
    isolated: bool = False


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
    process = await _spawn(folder, launch, timing, pipes=talk is not None)
    run = Run()
    reader = asyncio.ensure_future(_read_channel(process, folder, run, timing.started, text_line))
    try:
        async with asyncio.timeout(timing.timeout_s):
            if talk is not None:
                await _converse(process, talk, reader)
            async with asyncio.timeout(None if talk is None else _GOODBYE_S):
                await reader
    except TimeoutError:
        run.ended = "timeout"
    finally:
        _kill_group(process)
        await _cancel(reader)
        await _reap(process)
    return run


async def _spawn(folder: Folder, launch: Launch, timing: Timing, *, pipes: bool) -> asyncio.subprocess.Process:
    where = folder.skill / launch.folder
    cpu_s = ceil(timing.timeout_s) + 1
    arguments = [f"{timing.started:.6f}", str(cpu_s), str(folder.base), str(where), launch.mode, launch.entry]
    if launch.probe is not None:
        arguments += [getattr(launch.probe, name) for name in ProbeEvidence.__struct_fields__]
    channel = asyncio.subprocess.PIPE if pipes else asyncio.subprocess.DEVNULL
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _START, _PACKAGES),
            *arguments,
            stdin=channel,
            stdout=channel,
            stderr=asyncio.subprocess.PIPE,
            cwd=where,
            env=folder.environment(),
            start_new_session=True,
            limit=_CHUNK * 4,
        )
    except (OSError, ValueError) as error:
        raise TracingError(printable(str(error))) from error


async def _read_channel(
    process: asyncio.subprocess.Process, folder: Folder, run: Run, started: float, text_line: TextLine | None
) -> None:
    assert process.stderr is not None  # noqa: S101 - it was asked for
    pending, total = b"", 0
    while chunk := await process.stderr.read(_CHUNK):
        total += len(chunk)
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            if _take_line(line, folder, run, time.monotonic() - started, text_line):
                return
        if total > MAX_CHANNEL_BYTES or len(pending) > _MAX_LINE:
            run.ended = "flooded"
            return


def _take_line(line: bytes, folder: Folder, run: Run, now: float, text_line: TextLine | None) -> bool:
    """Enter one line of the channel into `run`; return whether it was the last one."""
    if len(line) > _MAX_LINE:
        return False
    name, fields = _parse(line)
    if name == "start":
        run.isolated = fields.get("isolated") == 1
    elif name == "error":
        run.detail = printable(folder.public(f"{fields.get('type')}: {fields.get('detail')}"))
    elif name == "end":
        status = fields.get("status")
        run.ended = "done" if status == 0 else "killed" if isinstance(status, int) and status < 0 else "failed"
        return True
    elif is_record(name, fields):
        run.records.setdefault(name, []).append(folder.public_record(fields))
    elif text_line is not None:
        text = folder.public(line.decode("utf-8", "replace"))
        for kind, record in text_line(text, round(max(now, 0.0), 6)):
            run.records.setdefault(kind, []).append(record)
    return False


def _parse(line: bytes) -> tuple[str, dict[str, Any]]:
    if line.startswith(b"["):
        with contextlib.suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            return msgspec.json.decode(line, type=tuple[str, dict[str, Any]])
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
