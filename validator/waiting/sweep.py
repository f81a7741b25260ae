"""The validator's part of a queue that others work off: a job for everything that is due, and an end to lost tries.

The tables of waiting work are the truth and jobs only tell workers of it: one that is lost, doubled or late changes
nothing, because a try is begun and ended in the table alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from validator.protocol.reasons import Reason
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreLostError
from validator.telemetry import Event
from validator.telemetry.repetition import Once, place_of
from validator.telemetry.reports import Reports
from validator.waiting.errors import QueueAwayError
from validator.waiting.jobs import STALLED_S, Held, JobQueue, LiveWorker
from validator.waiting.life_cycle import Kind, Postponed, Tries

_EVERY_S: Final = 5.0
_AHEAD: Final = 1_000
_AWAY_S: Final = 120.0
_log = structlog.get_logger()


@dataclass(slots=True)
class Sweep:
    """Keeps the queue in step with the tables; a service of the daemon.

    Args:
        store, clock, jobs: what it works with.
        kinds: of waiting work.
        board: told when nobody does it.
        stalled_s: a worker that has not been heard of for so long is lost.
        every_s: between two looks.
    """

    store: Store
    clock: Clock
    jobs: JobQueue
    kinds: Sequence[Kind[Any]]
    board: Reports
    stalled_s: float = STALLED_S
    every_s: float = _EVERY_S
    _tries: Tries = field(init=False)
    _said: Once = field(init=False)
    _looking_since: float | None = field(init=False, default=None)
    _served: float = field(init=False)
    _live: Sequence[LiveWorker] = field(init=False, default=())

    def __post_init__(self) -> None:
        self._tries = Tries(self.store, self.clock)
        self._said = Once(self.clock)
        self._served = self.clock.monotonic()

    async def run(self) -> None:
        """Look all the time.

        Raises:
            StoreLostError: the store must not be used any more.
        """
        while True:
            await self._unless_away()
            await self.clock.sleep(self.every_s)

    def at_once(self, kind: str) -> int:
        """Return how many tries of the kind the live workers make at a time."""
        return sum(one.concurrency for one in self._live if kind in one.queues)

    async def look(self) -> None:
        """Bring the queue in step with the tables once.

        Raises:
            QueueAwayError, StoreAwayError: the database does not answer.
        """
        # Workers that could not reach the database were not heard of either: they get as long again to show themselves.
        if self._looking_since is None:
            self._looking_since = self.clock.monotonic()
        settled = self.clock.monotonic() - self._looking_since >= self.stalled_s
        waits = []
        for kind in self.kinds:
            if settled:
                await self.jobs.drop_lost(kind.name, self.stalled_s)
            if await self._in_step(kind, settled=settled):
                waits.append(kind.name)
        await self._see_workers(waits)

    async def _in_step(self, kind: Kind[Any], *, settled: bool) -> bool:
        """Return whether something of the kind is due."""
        async with self.store.read() as tx:
            running = await kind.queue(tx).running()
            upcoming = await kind.queue(tx).upcoming(self.clock.now(), _AHEAD)
        # Read after the rows: a try that was running then and still is had its job taken all the while.
        held: Held = await self.jobs.held(kind.name)
        await self.jobs.defer(kind.name, [one for one in upcoming if one.work_id not in held.waiting])
        if settled:
            for taken in running:
                if (taken.work_id, taken.attempts) not in held.taken:
                    await self._tries.postpone(kind, taken, Postponed(Reason.BUG_CRASH))
        return bool(upcoming)

    async def _see_workers(self, waits: Sequence[str]) -> None:
        self._live = live = await self.jobs.live(self.stalled_s)
        missing = [name for name in waits if not any(name in one.queues for one in live)]
        now = self.clock.monotonic()
        if live and not missing:
            self._served = now
            self.board.clear("workers_away")
        elif now - self._served >= _AWAY_S:
            detail = f"no live worker for: {', '.join(missing)}" if live else "no live worker"
            self.board.raise_("workers_away", detail)

    async def _unless_away(self) -> None:
        try:
            await self.look()
        except StoreLostError:
            raise
        except (QueueAwayError, StoreAwayError):
            self._looking_since = None  # the board has it: it is the store's database
        except Exception as error:  # noqa: BLE001 - the next look may do better
            self._looking_since = None
            repeats = self._said.fresh(place_of(error))
            if repeats is not None:
                _log.exception(Event.QUEUE_FAILED, reason=Reason.BUG_INTERNAL, repeats=repeats)
