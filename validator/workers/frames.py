"""What passes between the pool and a worker: length-prefixed frames over a socket pair.

Both ends are this program, on this machine, and everything is pickled, as in `multiprocessing`: what strangers sent
travels as bytes.
"""

from struct import Struct
from typing import Final, NamedTuple

from validator.protocol.limits import MIB

REQUEST: Final = Struct(">Qdq")
"""Size of the pickled call, seconds of CPU, bytes of memory."""
REPLY: Final = Struct(">BQ")
"""A status, size of what is pickled after it."""
MAX_REPLY: Final = 64 * MIB

READY: Final = 0
RETURNED: Final = 1
RAISED: Final = 2
SWOLLEN: Final = 16
"""Added to a status: the worker did not give its memory back and should not be asked again."""
EXIT_NO_MEMORY: Final = 76
"""A worker ends with this code when it runs out of its address space."""
EXIT_OURS: Final = 77
"""A worker ends with this code when it fails by itself, whatever it was asked."""


class Hello(NamedTuple):
    """What a worker is told first.

    Attributes:
        path: where it finds modules.
        preload: modules that it imports before it takes its measure.
        nice: how much it gives way to the event loop.
    """

    path: tuple[str, ...]
    preload: tuple[str, ...]
    nice: int
