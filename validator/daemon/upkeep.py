"""Small services beside the rounds: retention, and a watch on the event loop."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from validator.sources import Clock
from validator.store import Store
from validator.telemetry import Event, Metrics

_PRUNE_EVERY_S: Final = 3600.0
_PRUNE_ROWS: Final = 200
_LAG_EVERY_S: Final = 1.0
_LAG_SHOWN_S: Final = 0.5
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RetentionService:
    """Removes raw answers and bundles past their time, in short transactions.

    Args:
        store, clock: what it works on.
        raw_days, bundles_days: how long each is kept.
    """

    store: Store
    clock: Clock
    raw_days: int
    bundles_days: int

    async def run(self) -> None:
        """Prune now and every hour."""
        while True:
            await self.prune()
            await self.clock.sleep(_PRUNE_EVERY_S)

    async def prune(self) -> None:
        """Remove everything that is past its time."""
        now = self.clock.now()
        answers = bundles = 0
        while True:
            async with self.store.begin() as tx:
                pruned = await tx.retention.prune(
                    answers_before=now - timedelta(days=self.raw_days),
                    bundles_before=now - timedelta(days=self.bundles_days),
                    limit=_PRUNE_ROWS,
                )
            answers += pruned.answers
            bundles += pruned.bundles
            if max(pruned) < _PRUNE_ROWS:
                break
        if answers or bundles:
            _log.info(Event.RETENTION_PRUNED, answers=answers, bundles=bundles)


@dataclass(frozen=True, slots=True)
class LoopWatch:
    """Measures how late the event loop runs a timer, and says so when it is much."""

    clock: Clock
    metrics: Metrics

    async def run(self) -> None:
        """Measure every second."""
        while True:
            before = self.clock.monotonic()
            await self.clock.sleep(_LAG_EVERY_S)
            late = max(0.0, self.clock.monotonic() - before - _LAG_EVERY_S)
            self.metrics.loop_lag.observe(late)
            if late > _LAG_SHOWN_S:
                _log.warning(Event.LOOP_LAG, seconds=round(late, 3))
