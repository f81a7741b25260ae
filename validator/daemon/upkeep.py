"""Small services beside the rounds: retention, a watch on the event loop, and one on the chain's head."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from validator.chain.base import BehindError, Chain, ChainError, NoSubnetError, OtherChainError
from validator.chain.clockwatch import ClockWatch
from validator.health.report import HealthState
from validator.kinds.assessment.dearest import dearest_cost
from validator.protocol.text import printable
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.store.pruning import prune
from validator.telemetry import Event, Metrics
from validator.workers.interface import TooCostlyError, Whose, Workers, WorkersError

_PRUNE_EVERY_S: Final = 3600.0
_LAG_EVERY_S: Final = 0.02  # often enough to see what blocks for longer than that
_LAG_SHOWN_S: Final = 0.5
_HEAD_EVERY_S: Final = 10.0
_PROBLEM: Final = 300
_CONDITIONS: Final[Mapping[str, type[ChainError]]] = {
    "subnet_gone": NoSubnetError,
    "other_chain": OtherChainError,
    "chain_behind": BehindError,
}
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
class LoopWatch:
    """Measures how late the event loop runs a timer, and says so when it is much."""

    clock: Clock
    metrics: Metrics

    async def run(self) -> None:
        """Measure all the time."""
        while True:
            before = self.clock.monotonic()
            await self.clock.sleep(_LAG_EVERY_S)
            late = max(0.0, self.clock.monotonic() - before - _LAG_EVERY_S)
            self.metrics.loop_lag.observe(late)
            if late > _LAG_SHOWN_S:
                _log.warning(Event.LOOP_LAG, seconds=round(late, 3))


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


@dataclass(frozen=True, slots=True)
class HeadWatch:
    """Tells the health report and the clock's watch which block is the newest, and the board what is wrong with it."""

    chain: Chain
    clock: Clock
    health: HealthState
    clock_watch: ClockWatch
    metrics: Metrics

    async def run(self) -> None:
        """Follow the chain's head; tell what keeps it from being seen."""
        while True:
            try:
                head = await self.chain.head()
            except ChainError as error:
                self._tell(error)
                self.health.lost_chain(printable(str(error), _PROBLEM))
                self.metrics.chain_reachable.set(0)
            else:
                self._tell(None)
                self.health.saw_block(head.number, head.epoch, self.chain.latency_s)
                self.metrics.saw_block(head.number)
                self.clock_watch.saw(head.number, head.time)
                if (off := self.clock_watch.off) is not None:
                    self.health.saw("clock", off_s=round(off, 3))
                    self.metrics.clock_off.set(off)
            await self.clock.sleep(_HEAD_EVERY_S)

    def _tell(self, error: ChainError | None) -> None:
        """Raise the condition that the newest answer shows, and clear those that it does not."""
        for name, kind in _CONDITIONS.items():
            if isinstance(error, kind):
                self.health.board.raise_(name, str(error))
            else:
                self.health.board.clear(name)
