"""Memory of a long-running process: freed memory goes back to the system, and garbage is collected early."""

import ctypes
import gc
import os
import sys
from typing import Final

ARENAS: Final = 2
MAPPED: Final = 128 * 1024  # bytes
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8


def settle_allocator() -> None:
    """Bound the freed memory that the C library keeps; call it before any thread starts.

    glibc gives threads up to eight arenas a core, and each keeps the most that it ever held: with some twenty threads
    the process grows until every one of them has met its worst answer. Here they share `ARENAS`. What takes `MAPPED`
    bytes or more is mapped for itself and given back at once: by itself glibc stops that after the first large answer.

    What the environment says (MALLOC_ARENA_MAX, MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES) stays; other C libraries are
    left alone.
    """
    if sys.platform != "linux" or "GLIBC_TUNABLES" in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    if "MALLOC_ARENA_MAX" not in os.environ:
        mallopt(_M_ARENA_MAX, ARENAS)
    if "MALLOC_MMAP_THRESHOLD_" not in os.environ:
        mallopt(_M_MMAP_THRESHOLD, MAPPED)


def settle_collector() -> None:
    """Exclude all current objects from later garbage collections; call it at the end of the start.

    Two hundred thousand objects of imports stay permanently. With them a full search stops every thread for 0.1 s, and
    is put off until a quarter as many new ones wait.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # a search notes how many it left, which the next one's delay is measured by
