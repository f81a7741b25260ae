"""The traced process's side of the trace channel: one JSON array per line, `["fs", {"op": …, "path": …, "ts": …}]`."""

from __future__ import annotations

import os
import sys
import time
from _json import encode_basestring_ascii as quote  # what json itself uses; importing json would cost 10 ms a run

TYPE_CHECKING = False  # importing typing would cost more than the whole module
if TYPE_CHECKING:
    from types import FrameType

MAX_RECORDS = 4_000
MAX_REPEATS = 8
_MAX_TEXT = 1_000
_MAX_ASCII = 3_000  # a line under PIPE_BUF is written whole, whoever else writes
_HIDDEN = ("/proc/", "/dev/", "/sys/", "/usr/share/zoneinfo", "/etc/ssl/", "/etc/mime.types")
_QUIET_MODULES = ("linecache.py", "tokenize.py")


class Recorder:
    """Writes records; drops what belongs to the interpreter and not to the skill.

    Args:
        fd: where to write.
        root: the bundle's folder.
        started: `time.monotonic()` of the run's start; every `ts` counts from it.
    """

    def __init__(self, fd: int, root: str, started: float) -> None:
        self.fd = fd
        self.root = root
        self.started = started
        self._left = MAX_RECORDS
        self._repeats: dict[str, int] = {}
        self._temporary = os.environ.get("TMPDIR")
        library = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib would cost each run milliseconds
        self._library = tuple({library, *(entry for entry in sys.path if entry)})

    def write(self, name: str, **fields: str | int | None) -> None:
        """Write one record, unless it was seen often or the run has written its share."""
        body = ",".join(f'"{key}":{_value(value)}' for key, value in fields.items())
        key = name + body
        seen = self._repeats.get(key, 0)
        if seen >= MAX_REPEATS or self._left <= 0:
            return
        self._repeats[key] = seen + 1
        self._left -= 1
        ts = max(0.0, time.monotonic() - self.started)
        os.write(self.fd, f'["{name}",{{{body},"ts":{ts:.6f}}}]\n'.encode())

    def path(self, value: object) -> str | None:
        """Return `value` as an absolute path; None if it is no path or one of the interpreter's own."""
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if not isinstance(value, str | bytes) or not value:
            return None
        text = os.path.normpath(os.path.join(os.getcwd(), os.fsdecode(value)))  # noqa: PTH109, PTH118 - as above
        hidden = (
            text == self._temporary  # how tempfile opens a file without a name differs between Pythons
            or text.startswith((*_HIDDEN, *self._library))
            or text.endswith(".pyc")
            or "/site-packages/" in text
            or "__pycache__" in text
        )
        return None if hidden and not text.startswith(self.root + "/") else text

    def from_bundle(self, frame: FrameType | None) -> bool:
        """Whether the frame runs code of the bundle (or code that the bundle made at run time)."""
        if frame is None:
            return False
        where = frame.f_globals.get("__file__")
        if isinstance(where, str):
            return where.startswith(self.root)
        return frame.f_globals.get("__spec__") is None

    def quiet(self, frame: FrameType) -> bool:
        """Whether the frame is the interpreter reading code, or looking for a temporary folder."""
        name = frame.f_code.co_filename
        return (
            name.startswith("<frozen ")
            or name.endswith(_QUIET_MODULES)
            or frame.f_code.co_name == "_get_default_tempdir"
        )


def _value(value: str | int | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value)
    clean = value[:_MAX_TEXT].encode("utf-8", "backslashreplace").decode()
    ascii_text = quote(clean)
    return ascii_text if len(ascii_text) <= _MAX_ASCII else quote(clean[: _MAX_TEXT // 4])
