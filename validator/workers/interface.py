"""Calls to worker processes on strangers' input: budget, owner, frames (SPEC 5, D-27)."""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final, Literal, NamedTuple, Protocol, Self, TypeVar

from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MIB

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
        """Seconds after which a worker counts as stopped: far more than a busy machine needs for `cpu_s`."""
        return _WALL_S + _WALL_FACTOR * self.cpu_s

    def times(self, factor: int) -> Self:
        """Return a budget of so many times as much of everything."""
        return type(self)(self.cpu_s * factor, self.memory * factor)


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
    """The first message to a worker: module path, modules to import before memory is measured, niceness."""

    path: tuple[str, ...]
    preload: tuple[str, ...]
    nice: int


T = TypeVar("T")
Reached = Literal["cpu", "memory", "died", "killed", "wall", "fault"]
"""What ended a worker: a budget or a crash; SIGKILL, standing still and a failure by itself, which are ours."""


class TooCostlyError(ValidatorError):
    """The input exceeded the budgets of two workers."""


class WorkersError(ValidatorError):
    """No worker could do it, through a fault of the validator's own."""


class WorkerKilledError(WorkersError):
    """The machine ended each worker that tried, as the kernel does when memory runs out."""


class Whose(NamedTuple):
    """Owner of a call: hotkeys take turns. `task_id` is informational."""

    hotkey: str
    task_id: str = ""


class Workers(Protocol):
    """Runs functions over what strangers sent."""

    @property
    def budget(self) -> Budget | None:
        """Largest cost of one call; None if unbounded."""

    @budget.setter
    def budget(self, budget: Budget) -> None: ...

    @property
    def behind_s(self) -> float:
        """Longest time that a call waits for its turn, seconds; 0 if none waits."""

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:
        """Return what the made call returns; raise what it raises.

        Args:
            whose: whom it is about.
            make: returns the call, a `functools.partial` of a module's function; asked for it when its turn has come
                and off the event loop, so that what waits takes no memory. It may be asked twice.
            urgent: do not wait behind those that are not; for what is small.

        Raises:
            TooCostlyError: it went over its budget twice, the second time alone with four times as much.
            WorkersError: a fault of ours; `WorkerKilledError` where the machine ended the workers.
        """

    async def close(self) -> None:
        """End everything at once, whatever it is doing; no call may follow."""


class Here:
    """Runs every call in the caller's process, unbounded: for virtual time and for trusted input."""

    budget: Budget | None = None
    behind_s: float = 0.0

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:  # noqa: ARG002 - the interface's
        """Return what the made call returns; raise what it raises."""
        return make()()

    async def close(self) -> None:
        """Do nothing: there is nothing to end."""
