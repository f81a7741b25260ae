"""How waiting work stands, told to health, metrics and the board; also where nothing does it."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from validator.health.report import HealthState, QueueSeen
from validator.protocol.work_states import WORK_STATES
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.telemetry import Metrics

_EVERY_S: Final = 10.0
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class QueueWatch:
    """Looks at executions and code checks now and then; a service of the daemon.

    Args:
        store, clock: what it looks at, and when.
        health, metrics: told.
        at_once: how many executions this process tries at a time; 0: there is no sandbox.
        code_at_once: the same of code checks.
        elsewhere: how many tries of a kind worker processes make at a time; None: it is not theirs to do.
    """

    store: Store
    clock: Clock
    health: HealthState
    metrics: Metrics
    at_once: int
    code_at_once: int = 0
    elsewhere: Callable[[str], int] | None = None

    async def run(self) -> None:
        """Look all the time. A store that is away has a condition of its own."""
        if not self.at_once and self.elsewhere is None:
            self.health.board.raise_("executions_off")
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
            executions = await tx.executions.counts(), await tx.executions.oldest()
            late, ended = await tx.executions.late_share(self.clock.now() - _DAY)
            checks = await tx.code_checks.counts(), await tx.code_checks.oldest()
        self._tell("code", *checks, self._at_once("code", self.code_at_once))
        self._tell("executions", *executions, self._at_once("executions", self.at_once))
        if (self.at_once or self.elsewhere) and 3 * late > ended:
            self.health.board.raise_("executions_late", f"{late} of {ended} in the last 24 hours")
        else:
            self.health.board.clear("executions_late")

    def _at_once(self, kind: str, here: int) -> int:
        return here if self.elsewhere is None else self.elsewhere(kind)

    def _tell(self, kind: str, counts: Mapping[str, int], oldest: datetime | None, at_once: int) -> None:
        """Tell how one kind stands."""
        states = {state: counts.get(state, 0) for state in WORK_STATES}
        waited = 0.0 if oldest is None else (self.clock.now() - oldest).total_seconds()
        self.health.saw_queue(kind, QueueSeen(states, oldest, at_once))
        self.metrics.queue(kind, states, waited, at_once)
