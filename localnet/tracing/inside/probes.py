"""The three probes, performed inside the traced process and seen by its own audit hook (SPEC 5)."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from localnet.tracing.inside.audit import Auditor

_ECHO = "/bin/echo"


def perform(auditor: Auditor, file_path: str, file_content: str, dns_host: str, process_echo: str) -> None:
    """Write the file, look the name up, run the echo; the file is removed again, unrecorded, and the watch is off.

    In an own network namespace the lookup is let through (there is no way out); elsewhere it is refused once recorded.
    """
    auditor.watching = False
    folder = os.path.dirname(file_path)  # noqa: PTH120 - pathlib would cost each run milliseconds
    if not os.path.isdir(folder):  # noqa: PTH112 - as above
        _make_shared(folder)
    auditor.watching = True
    _write(file_path, file_content)
    _look_up(dns_host)
    _echo(process_echo)
    auditor.watching = False
    try:  # noqa: SIM105 - contextlib would cost each run milliseconds
        os.unlink(file_path)  # noqa: PTH108 - as above
    except FileNotFoundError:
        pass  # another miner had the same task, and so the same file


def _make_shared(folder: str) -> None:
    try:
        os.mkdir(folder)  # noqa: PTH102 - as above
        os.chmod(folder, 0o1777)  # noqa: PTH101, S103 - every user's miners write there, each its own files
    except FileExistsError:
        pass


def _write(path: str, content: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    os.write(fd, content.encode())
    os.close(fd)


def _look_up(host: str) -> None:
    import _socket  # noqa: PLC0415 - only the run that performs the probes needs it

    try:  # noqa: SIM105 - as above
        _socket.getaddrinfo(host, None)
    except OSError:
        pass  # the name is under .invalid: the attempt counts


def _echo(text: str) -> None:
    silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    os.waitpid(os.posix_spawn(_ECHO, ["echo", text], {}, file_actions=silence), 0)
