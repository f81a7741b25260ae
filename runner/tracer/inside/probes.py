"""The three probes, performed by the traced process before the bundle's code is loaded (SPEC 5)."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from tracer.inside.audit import Auditor

_ECHO = "/bin/echo"


def prepare(file_path: str) -> None:
    """Make the folder of the probe's file; not yet followed."""
    folder = os.path.dirname(file_path)  # noqa: PTH120 - pathlib would cost each run milliseconds
    try:
        os.mkdir(folder)  # noqa: PTH102 - as above
        os.chmod(folder, 0o1777)  # noqa: PTH101, S103 - every user's miners write there, each its own files
    except OSError:
        pass


def perform(auditor: Auditor, file_path: str, file_content: str, dns_host: str, process_echo: str) -> None:
    """Write the file, look the name up, run the echo."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(file_path, flags, 0o600)
    os.write(fd, file_content.encode())
    os.close(fd)
    try:  # noqa: SIM105 - contextlib would cost each run milliseconds
        auditor.resolve(dns_host)
    except OSError:
        pass  # the name is under .invalid: the attempt counts
    silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    os.waitpid(os.posix_spawn(_ECHO, ["echo", process_echo], {}, file_actions=silence), 0)


def remove(file_path: str) -> None:
    """Remove the file; no longer followed."""
    try:  # noqa: SIM105 - as above
        os.unlink(file_path)  # noqa: PTH108 - as above
    except OSError:
        pass  # another miner had the same task, and so the same file
