"""What judging one answer may cost (SPEC 5, D-27)."""

from dataclasses import dataclass
from typing import Final, Self

from validator.protocol.limits import MIB

SECOND_TRY: Final = 4
_WALL_S: Final = 120.0
_WALL_FACTOR: Final = 10


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds on one call.

    Attributes:
        cpu_s: seconds of CPU time.
        memory: bytes of address space beyond what a worker maps once it has started.
    """

    cpu_s: float = 60.0
    memory: int = 256 * MIB

    @property
    def wall_s(self) -> float:
        """Seconds after which a worker is taken for stopped: far more than a busy machine needs for `cpu_s`."""
        return _WALL_S + _WALL_FACTOR * self.cpu_s

    def times(self, factor: int) -> Self:
        """Return a budget of so many times as much of everything."""
        return type(self)(self.cpu_s * factor, self.memory * factor)
