"""Memory figures from inside the daemon's process: Python's blocks, and bytes that the C library keeps.

A resident set that grows while neither blocks nor bytes in use do is memory that was freed and not given back.
"""

import ctypes
import json
import sys
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

_EVERY_S: Final = 2.0
_KIB: Final = 1024


class Inside(NamedTuple):
    """One look from inside.

    Attributes:
        blocks: of Python's that are alive.
        used_kb: that the C library has given out, in all arenas and mapped; Python's small blocks are next to it.
        kept_kb: that were freed and not given back to the system. Both 0 where the C library does not tell.
    """

    blocks: int
    used_kb: int
    kept_kb: int


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


def seen() -> Inside:
    """Look at this process."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return Inside(sys.getallocatedblocks(), 0, 0)
    ask.restype = _Mallinfo2
    usage = ask()
    return Inside(sys.getallocatedblocks(), (usage.uordblks + usage.hblkhd) // _KIB, usage.fordblks // _KIB)


def tell(file: Path) -> None:
    """Write a look to `file` now, and again and again in a thread that ends with the process."""
    _write(file)
    threading.Thread(target=_follow, args=(file,), name="soak-inside", daemon=True).start()


def newest_look(file: Path) -> Inside:
    """Return the newest look.

    Raises:
        OSError: there is none.
    """
    return Inside(**json.loads(file.read_text()))


def _follow(file: Path) -> None:
    while True:
        time.sleep(_EVERY_S)
        _write(file)


def _write(file: Path) -> None:
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(json.dumps(seen()._asdict()))
    draft.replace(file)
