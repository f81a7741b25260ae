"""How calls about what strangers sent are made, wherever they then run."""

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol, TypeVar

from validator.protocol.errors import ValidatorError
from validator.workers.budget import Budget

T = TypeVar("T")
Reached = Literal["cpu", "memory", "died", "killed", "wall", "fault"]
"""What ended a worker: a budget or a crash; SIGKILL, standing still and a failure by itself, which are ours."""


class TooCostlyError(ValidatorError):
    """What was sent took two workers over their budgets."""


class WorkersError(ValidatorError):
    """No worker could do it, and that is the validator's own fault."""


class WorkerKilledError(WorkersError):
    """The machine ended each worker that tried, as the kernel does when memory runs out."""


class Whose(NamedTuple):
    """Whom a call is about: calls are served by turns among hotkeys. `task_id` is only told."""

    hotkey: str
    task_id: str = ""


class Workers(Protocol):
    """Runs functions over what strangers sent."""

    @property
    def budget(self) -> Budget | None:
        """What one call may cost; None where nothing bounds it."""

    @budget.setter
    def budget(self, budget: Budget) -> None: ...

    @property
    def behind_s(self) -> float:
        """Seconds that the call has waited which waits for its turn for the longest time; 0 where none does."""

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
    """Runs every call where it is made, unbounded: for virtual time and for trusted input."""

    budget: Budget | None = None
    behind_s: float = 0.0

    async def run(self, whose: Whose, make: Callable[[], Callable[[], T]], *, urgent: bool = False) -> T:  # noqa: ARG002 - the interface's
        """Return what the made call returns; raise what it raises."""
        return make()()

    async def close(self) -> None:
        """Do nothing: there is nothing to end."""
