"""Running the user's own tools: no shell, a reduced environment, and bounds on time, output and what they download."""

import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from validator.protocol import limits
from validator.protocol.text import printable
from validator.tasks.source import TaskError

_TICK_S: Final = 0.2  # how often the clock and the folder are looked at
_CHUNK: Final = 64 * 1024
_ERRORS: Final = 64 * 1024  # bytes of stderr that are looked at
# What a tool needs to find its settings, its network and its trust: nothing else of this process's goes along.
_KEPT: Final = frozenset(
    """
    PATH HOME USER LOGNAME LANG LC_ALL LC_CTYPE XDG_CONFIG_HOME VIRTUAL_ENV PYENV_ROOT PYENV_VERSION NVM_DIR
    HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
    NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO SSH_AUTH_SOCK NETRC
    PIP_CONFIG_FILE PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_TRUSTED_HOST PIP_CERT
    PIP_CLIENT_CERT PIP_PROXY PIP_TIMEOUT PIP_DEFAULT_TIMEOUT PIP_RETRIES PIP_KEYRING_PROVIDER
    NPM_CONFIG_REGISTRY NPM_CONFIG_USERCONFIG NPM_CONFIG_GLOBALCONFIG NPM_CONFIG_CAFILE NPM_CONFIG_PROXY
    NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_NOPROXY
    """.split()  # noqa: SIM905 - names of variables, to be read as a list
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a tool may take.

    Attributes:
        seconds: until it is killed with everything that it started.
        output: most bytes that it may print.
        disk: most bytes of files in its folder.
    """

    seconds: float = 300
    output: int = 16 * limits.MIB
    disk: int = 256 * limits.MIB


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of the user's.

    Attributes:
        name: as it is found on the PATH.
        instead: what to do where it is missing.
        variables: of its environment, beside the few that are kept of this process's.
    """

    name: str
    instead: str
    variables: Mapping[str, str] = field(default_factory=dict)


def run_tool(
    tool: Tool, arguments: Sequence[str], folder: Path, bounds: Bounds | None = None, given: BinaryIO | None = None
) -> bytes:
    """Run a program in `folder` until it ends, and return what it printed. Blocks.

    Args:
        tool: which.
        arguments: everything after its name; the caller checked what in them came from outside.
        folder: its working folder and its TMPDIR; what it writes is counted there.
        bounds: None for the usual ones.
        given: a file that it reads on its standard input; None for nothing.

    Raises:
        TaskError: it is missing, failed (with its own words, in one line), or was stopped at a bound.
    """
    name, program = tool.name, shutil.which(tool.name)
    if program is None:
        raise TaskError(f"`{name}` is not on the PATH: install it, or {tool.instead}")
    environment = {key: value for key, value in os.environ.items() if key.upper() in _KEPT}
    environment |= {"TMPDIR": str(folder), **tool.variables}
    process: subprocess.Popen[bytes] | None = None
    try:
        with _signals_held():
            process = subprocess.Popen(  # noqa: S603 - a known program; the caller checked its arguments
                [program, *arguments],
                cwd=folder,
                env=environment,
                stdin=given or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # what it starts dies with it; Ctrl-C reaches this process, which ends it
            )
        output, errors = _output(name, process, folder, bounds or Bounds())
    except OSError as error:
        raise TaskError(f"`{name}` cannot be started: {error.strerror}") from None
    finally:
        if process is not None:
            _end(process)
    if process.returncode:
        raise TaskError(f"`{name}` failed: {_complaint(errors) or f'exit code {process.returncode}'}")
    return output


@contextmanager
def _signals_held() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of the block: a process that has begun must be known to be ended."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda held, _: came.append(held))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for caught in came:
            signal.raise_signal(caught)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill what is left of the process and of what it started, and close its channels."""
    with process, suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _output(name: str, process: "subprocess.Popen[bytes]", folder: Path, bounds: Bounds) -> tuple[bytes, bytes]:
    """Return what the process printed on its two channels, once it has ended by itself."""
    end = time.monotonic() + bounds.seconds
    texts = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as waiting:
        for key, stream in (("out", process.stdout), ("err", process.stderr)):
            waiting.register(stream, selectors.EVENT_READ, key)  # type: ignore[arg-type]
        looked = 0.0
        while waiting.get_map():
            for ready, _ in waiting.select(_TICK_S):
                chunk = os.read(ready.fd, _CHUNK)
                if not chunk:
                    waiting.unregister(ready.fileobj)
                text = texts[ready.data]
                text += chunk
                if ready.data == "err":
                    del text[:-_ERRORS]
                elif len(text) > bounds.output:
                    raise TaskError(f"`{name}` was stopped: it printed more than {bounds.output} bytes")
            now = time.monotonic()
            if now > end:
                raise TaskError(f"`{name}` was stopped: it took more than {bounds.seconds:g} s")
            if now > looked + _TICK_S:
                looked = now
                require_room(name, folder, bounds.disk)
    try:
        process.wait(max(end - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        raise TaskError(f"`{name}` was stopped: it took more than {bounds.seconds:g} s") from None
    require_room(name, folder, bounds.disk)
    return bytes(texts["out"]), bytes(texts["err"])


def require_room(name: str, folder: Path, most: int) -> None:
    """Refuse what is more than `most` bytes of files below `folder`.

    Raises:
        TaskError: it is; the text names the tool.
    """
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, file)).st_size  # noqa: PTH118 - many of them
    if total > most:
        raise TaskError(f"`{name}` was stopped: it wrote more than {most} bytes")


def _complaint(errors: bytes) -> str:
    """Return what a tool says went wrong: npm's first two errors, git's first, pip's last, else the last line."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    if npm := [line for line in lines if line.startswith(("npm error", "npm ERR!"))]:
        return printable(" ".join(line.split(maxsplit=2)[-1] for line in npm[:2]), 300)
    if git := [line for line in lines if line.startswith("fatal:")]:
        return printable(git[0], 300)
    said = [line for line in lines if line.startswith("ERROR:")] or lines
    return printable(said[-1].removeprefix("ERROR: "), 300) if said else ""
