"""Watches and upkeep: the daemon's periodic services.

Watches read chain, store and machine, and report to health report, board and metrics; `StoreWatch` also writes to the
store. Upkeep removes rows past their retention, and learns the budget of judging.
"""

import asyncio
import math
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from sssa.kinds.assessment.costliest_answer import dearest_cost
from sssa.protocol.reasons import Reason
from sssa.protocol.text import printable
from sssa.protocol.times import format_time
from sssa.sources import Clock
from validator.cancellation import ended
from validator.chain.clockwatch import ClockWatch
from validator.chain.interface import BehindError, Chain, ChainError, NoSubnetError, OtherChainError
from validator.health.board import Board, advice_on
from validator.health.report import HealthState
from validator.miners.directory import Declared
from validator.rounds.facts import EndedRound, facts_of
from validator.rounds.prepare import Prepared
from validator.store import Store
from validator.store.errors import DamagedError, StoreAwayError, StoreBusyError, StoreDamagedError, StoreNoWriteError
from validator.store.pruning import prune
from validator.store.rows import LogHead
from validator.store.size import KEPT_ROUNDS, store_size
from validator.telemetry import Event
from validator.telemetry.log import LogState, log_state
from validator.telemetry.metrics import Metrics
from validator.weights.pay_watch import PayWatch
from validator.workers.interface import TooCostlyError, Whose, Workers, WorkersError

_GATES_EVERY_S: Final = 5.0
_BEHIND_S: Final = 60.0
_LAG_EVERY_S: Final = 0.02  # often enough to see what blocks for longer than that
_LAG_SHOWN_S: Final = 0.5
_LOG_EVERY_S: Final = 5.0
_STUCK_S: Final = 10.0
_LOSS_SHOWN_S: Final = 900.0
_HEAD_EVERY_S: Final = 10.0
_PROBLEM: Final = 300
_CHAIN_CONDITIONS: Final[Mapping[str, type[ChainError]]] = {
    "subnet_gone": NoSubnetError,
    "other_chain": OtherChainError,
    "chain_behind": BehindError,
}
_STORE_EVERY_S: Final = 5.0
_PATIENCE_S: Final = 10.0
_STORE_CONDITIONS: Final = "store_no_write", "store_away"
_NO_WRITE: Final = (StoreNoWriteError, StoreBusyError)
_FIGURES_EVERY_S: Final = 15.0
_PINNED_S: Final = 60.0
_MIB: Final = 1024 * 1024
_PRUNE_EVERY_S: Final = 3600.0
_BUDGET: Final = 10  # times the dearest legal answer
_LEAST_CPU_S: Final = 10.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class GateWatch:
    """Watch on answers that wait for a worker; a service of the daemon."""

    workers: Workers
    clock: Clock
    health: HealthState

    async def run(self) -> None:
        """Check every few seconds until cancelled."""
        board = self.health.board
        while True:
            waited = self.workers.behind_s
            self.health.record("workers", waits_s=round(waited, 3))
            board.mark("gates_behind", f"one has waited for {waited:.0f} s" if waited > _BEHIND_S else None)
            await self.clock.sleep(_GATES_EVERY_S)


@dataclass(slots=True)
class RoundWatch:
    """Reports every round that starts or ends to health report, board, metrics and the watch on pay."""

    health: HealthState
    board: Board
    metrics: Metrics
    pay: PayWatch
    _without: int = field(init=False, default=0)
    _declared: Declared | None = field(init=False, default=None)
    _prepared: Prepared | None = field(init=False, default=None)

    def declared(self, declared: Declared) -> None:
        """Note the result of the last poll of declarations."""
        self._declared = declared
        self.health.record(
            "declarations", queried=declared.queried, valid=declared.valid, refused=dict(declared.refused)
        )

    def standing(self, missing: Reason | None, paused: bool) -> None:
        """Note what the hotkey lacks on the subnet, and whether rounds wait for it."""
        self.health.record_standing(missing, paused)
        self.metrics.permit.set(missing is None)

    def started(self, prepared: Prepared) -> None:
        """Note the round in hand with its longest deadline."""
        self._prepared = prepared
        self.metrics.declare(Counter(str(one) for miner in prepared.frozen.miners for one in miner.skill_types))
        deadline = max(task.windows.of("primary").deadline for task in prepared.frozen.tasks)
        self.health.round_started(prepared.frozen.round_id, deadline)

    def ended(self, end: EndedRound) -> None:
        """Note its end."""
        prepared, self._prepared = self._prepared, None
        seen = facts_of(end, prepared, self._declared)
        self.health.round_ended(end.round_id, advice_on(seen))
        self._without = 0 if seen.dispatches else self._without + 1
        self.health.record("dispatches", last_round=seen.dispatches, rounds_without=self._without)
        if seen.dispatches:
            self.health.record("answers", sent=seen.dispatches, passed=seen.passed, early=seen.early)
        self.board.record_round(seen)
        if prepared is not None:
            self.pay.round_ended(prepared.frozen.snapshot)


@dataclass(frozen=True, slots=True)
class HeadWatch:
    """Watch on the chain's head, for health report, board and the clock's watch; a service of the daemon."""

    chain: Chain
    clock: Clock
    health: HealthState
    clock_watch: ClockWatch
    metrics: Metrics

    async def run(self) -> None:
        """Follow the chain's head until cancelled; report why it cannot be read."""
        while True:
            try:
                head = await self.chain.head()
            except ChainError as error:
                self._report(error)
                self.health.lost_chain(printable(str(error), _PROBLEM))
                self.metrics.chain_reachable.set(0)
            else:
                self._report(None)
                self.health.record_block(head.number, head.epoch, self.chain.latency_s)
                self.metrics.record_block(head.number)
                self.clock_watch.record_block(head.number, head.time)
                if (off := self.clock_watch.off) is not None:
                    self.health.record("clock", off_s=round(off, 3))
                    self.metrics.clock_off.set(off)
            self._report_endpoints()
            await self.clock.sleep(_HEAD_EVERY_S)

    def _report_endpoints(self) -> None:
        used, unhealthy = self.chain.endpoint_use
        self.health.record("endpoints", used=used, unhealthy=dict(unhealthy))
        shown = "; ".join(f"{one}: {why}" for one, why in unhealthy.items())
        self.health.board.mark("chain_endpoint_unhealthy", shown or None)

    def _report(self, error: ChainError | None) -> None:
        """Raise the condition of the newest answer, and clear the others."""
        for name, kind in _CHAIN_CONDITIONS.items():
            self.health.board.mark(name, str(error) if isinstance(error, kind) else None)


@dataclass(frozen=True, slots=True)
class LoopWatch:
    """Measures how late the event loop runs a timer; logs long delays."""

    clock: Clock
    metrics: Metrics

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            before = self.clock.monotonic()
            await self.clock.sleep(_LAG_EVERY_S)
            late = max(0.0, self.clock.monotonic() - before - _LAG_EVERY_S)
            self.metrics.loop_lag.observe(late)
            if late > _LAG_SHOWN_S:
                _log.warning(Event.LOOP_LAG, seconds=round(late, 3))


@dataclass(frozen=True, slots=True)
class LogWatch:
    """Watch on lost lines of the log; a service of the daemon."""

    clock: Clock
    board: Board
    state: Callable[[], LogState] = log_state

    async def run(self) -> None:
        """Check every few seconds until cancelled."""
        lost, lost_at = 0, -math.inf
        while True:
            state, now = self.state(), self.clock.monotonic()
            if state.lost > lost:
                lost, lost_at = state.lost, now
            stuck = f"; its reader has taken nothing for {state.stuck_s:.0f} s" if state.stuck_s > _STUCK_S else ""
            shown = stuck or now - lost_at < _LOSS_SHOWN_S
            self.board.mark("log_lost", f"{lost} lines lost since the start{stuck}" if shown else None)
            await self.clock.sleep(_LOG_EVERY_S)


@dataclass(frozen=True, slots=True)
class StoreWatch:
    """Writes a probe every few seconds; a service of the daemon. `report_outage` takes the errors of lasting writes.

    `took` is called with the seconds of each write that succeeded. A probe that hangs is waited for: a statement on its
    way to a stopped server cannot be cancelled.
    """

    store: Store
    clock: Clock
    board: Board
    took: Callable[[float], None] = lambda _: None

    def report_outage(self, error: StoreAwayError) -> None:
        """Raise the condition of a store outage."""
        active, over = _STORE_CONDITIONS if isinstance(error, _NO_WRITE) else reversed(_STORE_CONDITIONS)
        self.board.raise_(active, error.detail)
        self.board.clear(over)

    async def run(self) -> None:
        """Probe until cancelled (StoreLostError: the store must not be used any more)."""
        while True:
            await self._ask()
            await self.clock.sleep(_STORE_EVERY_S)

    async def _ask(self) -> None:
        began = self.clock.monotonic()
        asking = asyncio.ensure_future(self.store.probe())
        try:
            while not asking.done():
                pause = asyncio.ensure_future(self.clock.sleep(_PATIENCE_S))
                try:
                    await asyncio.wait({asking, pause}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await ended([pause])
                if not asking.done():
                    self.board.raise_("store_away", f"no answer for {self.clock.monotonic() - began:.0f} s")
        finally:
            await ended([asking])
        try:
            asking.result()
        except StoreDamagedError as error:
            self.board.raise_("store_damaged", error.detail)
            raise
        except StoreAwayError as error:
            self.report_outage(error)
            return
        self.took(self.clock.monotonic() - began)
        if not self.store.waiting:  # a small write may find room where a large one does not
            for name in _STORE_CONDITIONS:
                self.board.clear(name)


@dataclass(slots=True)
class FigureWatch:
    """Reads the store's figures for metrics and conditions; a service of the daemon.

    Args:
        mechids: the mechanisms that weights are sent for; empty where none are.
        most_epochs: epochs without weights on chain before a condition is raised.
        folders: those that the validator writes to, by their name in the metrics.
        most_log: bytes of SQLite's write-ahead log above which a reader blocks its checkpoint.
    """

    store: Store
    clock: Clock
    metrics: Metrics
    health: HealthState
    netuid: int
    mechids: Sequence[int]
    most_epochs: int
    folders: Mapping[str, Path]
    most_log: int = 64 * _MIB
    _pinned_since: datetime | None = field(init=False, default=None)
    _first_epoch: int | None = field(init=False, default=None)

    async def run(self) -> None:
        """Read until cancelled."""
        self.metrics.in_hand.follow(lambda: self.health.in_hand_s)
        self.metrics.chain_age.follow(lambda: self.health.block_age_s)
        while True:
            with suppress(StoreAwayError):  # the store's watch reports it
                await self._stored()
            await self._disk()
            await self.clock.sleep(_FIGURES_EVERY_S)

    async def _stored(self) -> None:
        async with self.store.read() as tx:
            self.metrics.active_flags.set(sum((await tx.flags.standing()).values()))
            if not self.metrics.last_settled.known and (moment := await tx.rounds.last_settled()) is not None:
                self.metrics.last_settled.set(moment.timestamp())
            if not self.metrics.last_dispatched.known and (moment := await tx.rounds.last_settled(1)) is not None:
                self.metrics.last_dispatched.set(moment.timestamp())
            with suppress(DamagedError):  # anyone who writes the next receipt stops at it
                self._log(await tx.receipts.head())
            self.metrics.keeps(await tx.dispatches.kept_bytes(KEPT_ROUNDS))
            confirmed = {}
            for mechid in self.mechids:
                confirmed[mechid] = await tx.weights.confirmed_epoch(self.netuid, mechid)
                vector = await tx.vectors.newest(self.netuid, mechid)
                if vector is not None:
                    self.metrics.pays(mechid, [one.reason for one in vector.unpaid])
            self.metrics.store_bytes.set((await store_size(tx.connection)).bytes)
        self._weights(confirmed)
        self._write_ahead_log(await self.store.log_size())

    def _write_ahead_log(self, size: int) -> None:
        """Raise `store_pinned` if the log stays large for longer than a large transaction takes."""
        now = self.clock.now()
        self._pinned_since = None if size <= self.most_log else self._pinned_since or now
        if self._pinned_since is None:
            self.health.board.clear("store_pinned")
        elif (now - self._pinned_since).total_seconds() >= _PINNED_S:
            seen = f"{size / _MIB:.0f} MiB; over {self.most_log / _MIB:.0f} MiB since {format_time(self._pinned_since)}"
            self.health.board.raise_("store_pinned", f"{self.store.location}-wal has {seen}")

    def _log(self, head: LogHead | None) -> None:
        """Show the newest receipt: its number in the metrics, its digest in /readyz alone."""
        self.health.log = head
        if head is not None:
            self.metrics.receipts.set(head.sequence + 1)

    def _weights(self, confirmed: Mapping[int, int | None]) -> None:
        """Show the epochs since each mechanism's weights were confirmed; without any, since the start."""
        if (epoch := self.health.epoch) is None or not confirmed:
            return
        if self._first_epoch is None:
            self._first_epoch = epoch
        ages = {mechid: epoch - (self._first_epoch if last is None else last) for mechid, last in confirmed.items()}
        for mechid, age in ages.items():
            self.metrics.weights_epochs.labels(str(mechid)).set(age)
        worst = max(ages.values())
        self.health.record("weights", epochs=worst, limit=self.most_epochs)
        self.health.board.mark("weights_old", f"none for {worst} epochs" if worst > self.most_epochs else None)

    async def _disk(self) -> None:
        free: dict[str, int] = {}
        for name, folder in self.folders.items():
            try:
                free[name] = (await asyncio.to_thread(shutil.disk_usage, folder)).free
            except OSError:
                continue  # what asks before a round tells it
            self.metrics.disk_free.labels(name).set(free[name])
        self.health.record("disk", **{f"{name}_free_mib": number // _MIB for name, number in free.items()})


@dataclass(frozen=True, slots=True)
class RetentionService:
    """Removes raw answers and bundles past their time, in short transactions.

    Args:
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
    """Measures the most expensive legal answer in a worker; judging may cost ten times as much (D-27)."""

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
