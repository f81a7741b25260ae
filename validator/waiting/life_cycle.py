"""Life cycle of waiting work: a try ends it or puts it back, and the store keeps that. The same in every process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Generic, Literal, NamedTuple, Protocol

import structlog

from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.protocol.text import printable
from sssa.protocol.waiting_work import CODE, EXECUTIONS, CodeCheck, Executed, Execution, Judged, W, WorkKind
from sssa.sources import Clock
from validator.store import Store, Transaction
from validator.store.errors import StoreAwayError, StoreLostError
from validator.store.repositories.waiting_work import WorkQueue
from validator.telemetry import Event

MOST_TRIES: Final = 12
_FIRST_PAUSE_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 3600.0
_PATIENCE_S: Final = 5.0
_DETAIL: Final = 500
_log = structlog.get_logger()


class QueueError(ValidatorError):
    """The queue cannot be used."""


class QueueSettingsError(QueueError):
    """The settings give the queue nothing to work with."""


class QueueAwayError(QueueError):
    """The queue's database does not answer."""


class NoQueueError(QueueError):
    """The extra `scale` is not installed."""


class Finished(NamedTuple):
    """The outcome of a try that ends the work: state, reason, detail, which may come from strangers, and what to store.

    `seconds` are those that the sandbox took; None where nothing ran.
    """

    state: Literal["done", "inconclusive"]
    reason: Reason
    detail: str = ""
    result: Executed | Judged | None = None
    seconds: float | None = None


class Postponed(NamedTuple):
    """The outcome of a try that failed by a fault of ours: it is made again later."""

    reason: Reason
    detail: str = ""


Outcome = Finished | Postponed


@dataclass(frozen=True, slots=True)
class Kind(Generic[W]):
    """A kind of waiting work.

    Attributes:
        name: also that of its jobs.
        patient: a fault of the engine never ends a piece of it; only an error of this program does, after `MOST_TRIES`.
    """

    name: WorkKind
    queue: Callable[[Transaction], WorkQueue[W]]
    patient: bool

    def gives_up(self, taken: W, reason: Reason) -> bool:
        """Return whether an attempt that failed for this reason of ours was the last."""
        return taken.attempts >= MOST_TRIES and (not self.patient or reason == Reason.BUG_INTERNAL)


# What still waits when the next round settles ends there. Code waits as long as it takes: no planner goes unpaid.
EXECUTION_KIND: Final[Kind[Execution]] = Kind(EXECUTIONS, lambda tx: tx.executions, patient=False)
CODE_KIND: Final[Kind[CodeCheck]] = Kind(CODE, lambda tx: tx.code_checks, patient=True)


class Work(Protocol[W]):
    """A kind of waiting work, with what doing it takes."""

    @property
    def kind(self) -> Kind[W]:
        """The kind."""

    async def attempt(self, taken: W) -> Outcome:
        """Do the work once. Writes nothing; what it raises is a fault of ours, and postpones it."""


def pause_after(attempts: int) -> float:
    """Return the seconds before the next try after so many: 1 minute, doubled each time, at most an hour."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempts - 1)))


@dataclass(frozen=True, slots=True)
class Tries:
    """Makes tries and stores their outcomes."""

    store: Store
    clock: Clock

    async def make(self, work: Work[W], taken: W) -> None:
        """Do the work once; an error is stored as ours before it is raised.

        Raises:
            StoreLostError: the store must not be used any more.
            StoreAwayError: it could not be read; the try still counts as running.
        """
        try:
            outcome = await work.attempt(taken)
            if isinstance(outcome, Postponed):
                await self.postpone(work.kind, taken, outcome)
            else:
                await self.finish(work.kind, taken, outcome)
        except (StoreLostError, StoreAwayError):
            raise
        except Exception as error:
            await self.postpone(work.kind, taken, Postponed(Reason.BUG_INTERNAL, f"{type(error).__name__}: {error}"))
            raise

    async def finish(self, kind: Kind[W], taken: W, end: Finished) -> None:
        """End the work, unless the try is no longer the running one."""
        now, shown = self.clock.now(), printable(end.detail.strip(), _DETAIL)
        if await self.store.lasting(
            lambda tx: kind.queue(tx).end(taken, end.state, end.reason, now, shown, end.result)
        ):
            _log.info(
                Event.WORK_ENDED,
                **_named(taken),
                outcome=end.state,
                reason=end.reason,
                detail=shown,
                seconds=end.seconds,
            )

    async def postpone(self, kind: Kind[W], taken: W, why: Postponed) -> None:
        """Try again later, or end the work inconclusive if that was the last try."""
        if kind.gives_up(taken, why.reason):
            await self.finish(kind, taken, Finished("inconclusive", why.reason, why.detail))
            return
        pause = pause_after(taken.attempts)
        due, shown = self.clock.now() + timedelta(seconds=pause), printable(why.detail, _DETAIL)
        if await self.store.lasting(lambda tx: kind.queue(tx).postpone(taken, why.reason, due, shown)):
            _log.info(Event.WORK_POSTPONED, **_named(taken), reason=why.reason, detail=shown, seconds=pause)

    async def take_back(self, kind: Kind[Any]) -> None:
        """Postpone everything of the kind that is running: for a start, when nothing of it can be."""
        async with self.store.read() as tx:
            running = await kind.queue(tx).running()
        for taken in running:
            await self.postpone(kind, taken, Postponed(Reason.BUG_CRASH))

    async def hand_back(self, kind: Kind[W], taken: W, *, patience_s: float | None = _PATIENCE_S) -> None:
        """Put the work back as if the try had not begun: this process cannot continue it.

        Raises:
            StoreAwayError: the database was away for longer than the patience lasts; another process puts it back.
        """
        now = self.clock.now()
        if await self.store.lasting(lambda tx: kind.queue(tx).hand_back(taken, now), patience_s=patience_s):
            _log.info(Event.WORK_HANDED_BACK, **_named(taken))


def _named(taken: W) -> Mapping[str, Any]:
    """Return the fields that name a piece of work in the log."""
    return {
        "kind": taken.kind,
        "work_id": taken.work_id,
        "round_id": str(taken.round_id),
        "task_id": taken.task_id,
        "skill_type": str(taken.skill_type),
        "hotkeys": taken.hotkeys,
        "attempts": taken.attempts,
    }
