"""Upkeep beside the rounds: retention of raw answers and bundles, and the budget of judging."""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from validator.kinds.assessment.dearest import dearest_cost
from validator.sources import Clock
from validator.store import Store
from validator.store.archiving import prune
from validator.store.errors import StoreAwayError
from validator.telemetry import Event
from validator.workers.interface import TooCostlyError, Whose, Workers, WorkersError

_PRUNE_EVERY_S: Final = 3600.0
_BUDGET: Final = 10  # times the dearest legal answer
_LEAST_CPU_S: Final = 10.0
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
            try:
                await self.prune()
            except StoreAwayError as error:
                _log.warning(Event.RETENTION_POSTPONED, reason=str(error))
            await self.clock.sleep(_PRUNE_EVERY_S)

    async def prune(self) -> None:
        """Remove everything that is past its time."""
        now = self.clock.now()
        pruned = await prune(
            self.store,
            answers_before=now - timedelta(days=self.raw_days),
            bundles_before=now - timedelta(days=self.bundles_days),
        )
        if any(pruned):
            _log.info(Event.RETENTION_PRUNED, answers=pruned.answers, bundles=pruned.bundles)


@dataclass(frozen=True, slots=True)
class BudgetService:
    """Learns in a worker what the dearest legal answer costs here, and lets judging cost ten times as much (D-27)."""

    workers: Workers

    async def run(self) -> None:
        """Measure once. Until then, and if it cannot be measured, the workers' own budget holds."""
        if self.workers.budget is None:
            return
        try:
            cost = await self.workers.run(Whose(""), lambda: partial(dearest_cost))
        except (TooCostlyError, WorkersError):
            return  # the workers have told it
        budget = replace(self.workers.budget, cpu_s=max(_LEAST_CPU_S, _BUDGET * cost))
        self.workers.budget = budget
        _log.info(Event.JUDGING_BUDGET, cpu_s=round(budget.cpu_s, 3), memory=budget.memory)
