"""One try of a piece of waiting work, and its end written down once: the same in whichever process it is made."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog

from validator.protocol.reasons import Reason
from validator.protocol.text import printable
from validator.queue.work import Finished, Impossible, Kind, Outcome, Postponed, Work, pause_after
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreLostError
from validator.store.waiting import W
from validator.telemetry import Event

_DETAIL: Final = 500
_PATIENCE_S: Final = 5.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Tries:
    """Makes tries and writes down what becomes of them."""

    store: Store
    clock: Clock

    async def make(self, work: Work[W], taken: W) -> None:
        """Do it once; an error is written down as ours before it is raised.

        Raises:
            StoreLostError: the store must not be used any more.
            StoreAwayError: it could not be read; the try still counts as running.
        """
        try:
            await self._enter(work, taken, await work.attempt(taken))
        except (StoreLostError, StoreAwayError):
            raise
        except Exception as error:
            await self.postpone(work, taken, Postponed(Reason.BUG_INTERNAL, f"{type(error).__name__}: {error}"))
            raise

    async def take_back(self, work: Kind[Any]) -> None:
        """Put back everything of the kind that is running: for a start, when nothing of it can be."""
        async with self.store.read() as tx:
            left = await work.queue(tx).running()
        for taken in left:
            await self.postpone(work, taken, Postponed(Reason.BUG_CRASH))

    async def postpone(self, work: Kind[W], taken: W, why: Postponed) -> None:
        """Try again later, or give it up if that was the last try."""
        if work.gives_up(taken, why.reason):
            await self._give_up(work, taken, why.reason, why.detail)
            return
        pause = pause_after(taken.attempts)
        due, shown = self.clock.now() + timedelta(seconds=pause), printable(why.detail, _DETAIL)
        if await self.store.lasting(lambda tx: work.queue(tx).postpone(taken, why.reason, due, shown)):
            _log.info(
                work.words.postponed,
                **work.named(taken),
                reason=why.reason,
                detail=shown,
                attempts=taken.attempts,
                seconds=pause,
            )

    async def hand_back(self, work: Kind[W], taken: W, *, patience_s: float | None = _PATIENCE_S) -> None:
        """Put it back as if the try had not begun: whoever made it cannot go on.

        Raises:
            StoreAwayError: the database was away for longer than the patience lasts; it is put back by somebody else.
        """
        now = self.clock.now()
        if await self.store.lasting(lambda tx: work.queue(tx).hand_back(taken, now), patience_s=patience_s):
            _log.info(Event.WORK_HANDED_BACK, **work.named(taken), attempts=taken.attempts)

    async def _enter(self, work: Work[W], taken: W, outcome: Outcome) -> None:
        match outcome:
            case Finished():
                now, shown = self.clock.now(), printable(outcome.detail.strip(), _DETAIL)
                if await self.store.lasting(lambda tx: outcome.write(tx, now, shown)):
                    _tell(work, taken, outcome.outcome, outcome.reason, shown, outcome.seconds)
            case Postponed():
                await self.postpone(work, taken, outcome)
            case Impossible(reason, detail):
                await self._give_up(work, taken, reason, detail)

    async def _give_up(self, work: Kind[W], taken: W, reason: Reason, detail: str) -> None:
        now, shown = self.clock.now(), printable(detail, _DETAIL)
        if await self.store.lasting(lambda tx: work.queue(tx).end(taken, "inconclusive", reason, now, shown)):
            _tell(work, taken, "inconclusive", reason, shown, None)


def _tell(  # noqa: PLR0913, PLR0917 - what a canonical line has
    work: Kind[W], taken: W, outcome: str, reason: Reason, detail: str, seconds: float | None
) -> None:
    """Write its canonical line."""
    _log.info(
        work.words.ended,
        **work.named(taken),
        outcome=outcome,
        reason=reason,
        detail=detail,
        attempts=taken.attempts,
        seconds=seconds,
    )
