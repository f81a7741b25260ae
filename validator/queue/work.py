"""A kind of waiting work: the table it waits in, what one try of it does, and what becomes of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Protocol, TypeVar

from validator.protocol.reasons import Reason
from validator.store import Transaction
from validator.store.records import Upcoming
from validator.telemetry import Event

_FIRST_PAUSE_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 3600.0


class Taken(Protocol):
    """One piece of work whose try has begun."""

    @property
    def work_id(self) -> str:
        """Its id among those of its kind."""

    @property
    def attempts(self) -> int:
        """Tries that were begun, this one included."""


T = TypeVar("T", bound=Taken)


class Queue(Protocol[T]):
    """The table that it waits in: pending -> running -> ended, or pending again.

    A try that is no longer the running one changes nothing.
    """

    async def take(self, now: datetime) -> T | None:
        """Begin a try of what is due and next; None if nothing is."""

    async def claim(self, work_id: str, attempt: int, now: datetime) -> T | None:
        """Begin this try of this one; None if it does not wait for that try."""

    async def upcoming(self, now: datetime, limit: int) -> Sequence[Upcoming]:
        """Return what is due, fair between miners, and at most so much of it."""

    async def next_due(self) -> datetime | None:
        """Return when the next one that is pending is due; None where none is pending."""

    async def running(self) -> Sequence[T]:
        """Return those that are running."""

    async def again(self, taken: T, reason: Reason, due_at: datetime, detail: str = "") -> bool:
        """Put it back until `due_at`; False if it is no longer the running one."""

    async def hand_back(self, taken: T, at: datetime) -> bool:
        """Put it back as if the try had not begun; False if it is no longer the running one."""

    async def give_up(self, taken: T, reason: Reason, at: datetime, detail: str = "") -> bool:
        """End it without a result; False if it is no longer the running one."""


class Finished(NamedTuple):
    """A try that came to a result.

    Attributes:
        write: ends it in the store at a moment; False, changing nothing, if it is no longer the running one.
        outcome, reason: what it came to, for its canonical line.
        detail: for people; may come from strangers.
        seconds: that the sandbox took; None where nothing ran.
    """

    write: Callable[[Transaction, datetime, str], Awaitable[bool]]
    outcome: str
    reason: Reason
    detail: str = ""
    seconds: float | None = None


class Postponed(NamedTuple):
    """A try that failed by a fault of ours: it is tried again later."""

    reason: Reason
    detail: str = ""


class Impossible(NamedTuple):
    """What no later try can do either."""

    reason: Reason
    detail: str = ""


Outcome = Finished | Postponed | Impossible


class Words(NamedTuple):
    """What the log calls a kind's lines: of an end, of a try that is put back, of an error of ours."""

    ended: Event
    postponed: Event
    failed: Event


class Kind(Protocol[T]):
    """A kind of waiting work, for those who do none of it.

    Attributes:
        name: of the kind: one lower-case word.
        words: what the log calls its lines.
    """

    @property
    def name(self) -> str:
        """See above."""

    @property
    def words(self) -> Words:
        """See above."""

    def queue(self, tx: Transaction) -> Queue[T]:
        """Return its table."""

    def gives_up(self, taken: T, reason: Reason) -> bool:
        """Whether a try that failed for this reason of ours was the last."""

    def named(self, taken: T) -> Mapping[str, str]:
        """Return what every line of the log about it names it by."""


class Work(Kind[T], Protocol[T]):
    """A kind of waiting work, with what doing it takes."""

    async def attempt(self, taken: T) -> Outcome:
        """Do the work once. Writes nothing; what it raises is a fault of ours, and postpones it."""


def pause_after(attempts: int) -> float:
    """Return the seconds before the next try after so many: 1 minute, doubled each time, at most an hour."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempts - 1)))
