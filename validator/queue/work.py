"""A kind of waiting work: the table it waits in, what one try of it does, and what becomes of it."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from validator.protocol.reasons import Reason
from validator.store import Transaction
from validator.store.repositories.waiting import WorkQueue
from validator.store.waiting import W
from validator.telemetry import Event

_FIRST_PAUSE_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 3600.0


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


class Kind(Protocol[W]):
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

    def queue(self, tx: Transaction) -> WorkQueue[W]:
        """Return its table."""

    def gives_up(self, taken: W, reason: Reason) -> bool:
        """Whether a try that failed for this reason of ours was the last."""

    def named(self, taken: W) -> Mapping[str, str]:
        """Return what every line of the log about it names it by."""


class Work(Kind[W], Protocol[W]):
    """A kind of waiting work, with what doing it takes."""

    async def attempt(self, taken: W) -> Outcome:
        """Do the work once. Writes nothing; what it raises is a fault of ours, and postpones it."""


def pause_after(attempts: int) -> float:
    """Return the seconds before the next try after so many: 1 minute, doubled each time, at most an hour."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempts - 1)))
