"""How waiting work stands, told to health, metrics and the board; also where nothing does it."""

import contextlib
from dataclasses import dataclass
from typing import Final, get_args

from validator.reruns.work import MOST_WAITING
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.store.rerun import RerunState
from validator.telemetry import Metrics
from validator.web.state import HealthState, QueueSeen

_EVERY_S: Final = 10.0
_OF_A_ROUND: Final = 24  # reruns at most: two tasks of each of four types, three primaries
_KIND: Final = "reruns"
_STATES: Final[tuple[str, ...]] = get_args(RerunState)


@dataclass(frozen=True, slots=True)
class QueueWatch:
    """Looks at the reruns now and then; a service of the daemon.

    Args:
        store, clock: what it looks at, and when.
        health, metrics: told.
        at_once: how many tries this process makes at a time; 0: there is no sandbox.
    """

    store: Store
    clock: Clock
    health: HealthState
    metrics: Metrics
    at_once: int

    async def run(self) -> None:
        """Look all the time. A store that is away has a condition of its own."""
        if not self.at_once:
            self.health.board.raise_("reruns_off")
        while True:
            with contextlib.suppress(StoreAwayError):
                await self.look()
            await self.clock.sleep(_EVERY_S)

    async def look(self) -> None:
        """Look once.

        Raises:
            StoreError: the store cannot be read.
        """
        async with self.store.read() as tx:
            counts, oldest = await tx.reruns.counts(), await tx.reruns.oldest()
        states = {state: counts.get(state, 0) for state in _STATES}
        waited = 0.0 if oldest is None else (self.clock.now() - oldest).total_seconds()
        self.health.saw_queue(_KIND, QueueSeen(states, oldest, self.at_once))
        self.metrics.queue(_KIND, states, waited, self.at_once)
        waiting = states["pending"] + states["running"]
        if self.at_once and waiting > MOST_WAITING - _OF_A_ROUND:
            self.health.board.raise_("reruns_full", f"{waiting} wait, of {MOST_WAITING} that may")
        else:
            self.health.board.clear("reruns_full")
