"""A writer of a run's two channels (pipes), one JSON array per line: `["fs", {"op": …, "path": …, "ts": …}]`.

The watcher's is the trace. The skill's own process has another, for what only it can see: its imports, the variables
that it reads and the names that it looks up; nothing that the watcher sees is taken from there.
"""

from __future__ import annotations

import os
import sys
import time
from _json import encode_basestring_ascii as quote  # what json itself uses; importing json would cost 10 ms a run

MAX_RECORDS = 8_000
MAX_REPEATS = 8
SECRET_FILES = (".env", "id_rsa", "id_ed25519", ".netrc", ".pgpass", "shadow", "credentials", ".npmrc", ".pypirc")
NAMELESS = "tmp________"  # in place of a random name
_MAX_TEXT = 1_000
_RANDOM = 8  # characters
_MAX_ASCII = 3_000  # a line under PIPE_BUF is written whole, next to other writers
# Where programs look before they do what they are for: what is read there belongs to them.
_SYSTEM = ("/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/runner/", "/etc/ssl/", "/etc/ld.so", "/etc/terminfo/")
_SYSTEM_FILES = frozenset(
    """
    /etc/bash.bashrc /etc/gai.conf /etc/host.conf /etc/hosts /etc/inputrc /etc/locale.alias /etc/localtime
    /etc/mime.types /etc/nsswitch.conf /etc/openssl.cnf /etc/os-release /etc/protocols /etc/resolv.conf /etc/services
    /etc/timezone /etc/wgetrc
    """.split()  # noqa: SIM905 - a list of strings reads worse
)
_KERNEL = ("/dev/", "/proc/", "/sys/")
_PLAIN = "@%+=:,./-_~"
_SHARED = "/dev/shm/"  # noqa: S108 - a name only


class FullError(Exception):
    """The run has recorded its share: it ends, so that nothing is done unrecorded."""


class Recorder:
    """Writes records; drops what belongs to the interpreter and not to the skill.

    Args:
        fd: where to write.
        root: the bundle's folder.
        temporary: the run's folder for temporary files.
        started: `time.monotonic()` of the run's start; every `ts` counts from it.
    """

    def __init__(self, fd: int, root: str, temporary: str, started: float) -> None:
        self.fd = fd
        self.root = root
        self.started = started
        self._temporary = temporary
        self._setup = root.removesuffix("skill") + "trace.sh"
        self._remaining = MAX_RECORDS
        self._repeats: dict[str, int] = {}
        self._random: set[str] = set()
        here = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120 - as everywhere here
        self._system = (*_SYSTEM, sys.base_prefix + "/", sys.prefix + "/", here + "/")

    def write(self, name: str, **fields: str | int | None) -> None:
        """Write one record, unless it was seen often.

        Raises:
            FullError: the run has written its share.
        """
        body = ",".join(f'"{key}":{_value(value)}' for key, value in fields.items())
        key = name + body
        seen = self._repeats.get(key, 0)
        if seen >= MAX_REPEATS:
            return
        if not self._remaining:
            raise FullError
        self._repeats[key] = seen + 1
        self._remaining -= 1
        ts = max(0.0, time.monotonic() - self.started)
        os.write(self.fd, f'["{name}",{{{body},"ts":{ts:.6f}}}]\n'.encode())

    def fs(self, op: str, path: str, *, exclusive: bool = False) -> None:
        """Record an operation on a file, if it is the skill's own."""
        folder, _, name = path.rpartition("/")
        if exclusive and folder == self._temporary and len(name) == _RANDOM:
            self._random.add(path)  # how Python tries whether it can write to a folder, and a name of no meaning
        if path in self._random:
            path = f"{folder}/{NAMELESS}"
        if self._is_hidden(op, path):
            return
        if path.startswith("/proc/"):
            path = f"/proc/*/{name}"
        self.write("fs", op=op, path=path)
        if op == "read" and path.endswith(SECRET_FILES):
            self.write("secrets", type="file", pattern=path)

    def _is_hidden(self, op: str, path: str) -> bool:
        looks = op in ("read", "list")
        if path.startswith(self.root + "/") or path == self.root:
            return "__pycache__" in path or path.endswith("/package.json") or (op == "list" and _holds_code(path))
        if path.startswith(_SHARED):
            return path.startswith(f"{_SHARED}sem.")  # how Python makes a lock, under a random name
        if path.startswith(_KERNEL):
            return not path.endswith(("/environ", "/mem"))
        if not looks:
            return False
        return (
            path in (self._temporary, self._setup, "/")
            or path.startswith(self._system)
            or path in _SYSTEM_FILES
            or path.endswith((".pyc", ".so", "/package.json", "/.curlrc", "/.config/curlrc", "/.wgetrc"))
            or ".so." in path.rpartition("/")[2]  # a library, which a loader looks for in many places
        )

    def command(self, path: str, written: str, arguments: list[str]) -> str:
        """Return a command as one shell line: the program that runs, whatever it is called by."""
        if path.startswith((self.root + "/", self._temporary + "/")):
            program = path
        else:
            program = "python3" if _is_python(written) or _is_python(path) else os.path.basename(written)  # noqa: PTH119
        return " ".join(quoted(word) for word in (program, *("python3" if _is_here(w) else w for w in arguments)))

    def from_bundle(self, frame: object) -> bool:
        """Return whether the frame runs code of the bundle, or code that the bundle made at run time."""
        names = getattr(frame, "f_globals", None)
        if names is None:
            return False
        where = names.get("__file__")
        if isinstance(where, str):
            return where.startswith(self.root)
        return names.get("__spec__") is None


def quoted(text: str) -> str:
    """Return the word as a shell takes it."""
    if text and all((c.isascii() and c.isalnum()) or c in _PLAIN for c in text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _is_python(path: str) -> bool:
    return os.path.basename(path).startswith("python3") or path == sys.executable  # noqa: PTH119 - as above


def _is_here(word: str) -> bool:
    return word.startswith("/") and _is_python(word)


def _holds_code(folder: str) -> bool:
    """Return whether interpreters list this folder to find code in it."""
    try:
        return any(name.endswith((".py", ".js", ".mjs")) for name in os.listdir(folder))  # noqa: PTH208 - as above
    except OSError:
        return False


def _value(value: str | int | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    clean = value[:_MAX_TEXT].encode("utf-8", "backslashreplace").decode()
    ascii_text = quote(clean)
    return ascii_text if len(ascii_text) <= _MAX_ASCII else quote(clean[: _MAX_TEXT // 4])
