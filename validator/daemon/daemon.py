"""The running validator: starts its services, waits for a stop, ends them in reverse. Run by `main.py` and localnet."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from sssa.protocol.errors import ValidatorError
from sssa.protocol.reasons import Reason
from sssa.sources import Clock
from validator.cancellation import ended, unless_set
from validator.daemon.signals import Stop
from validator.health.board import Board
from validator.health.report import HealthState
from validator.rounds.service import RoundService
from validator.settings.model import Settings
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreDamagedError, StoreLostError
from validator.telemetry import Event
from validator.telemetry.metrics import Metrics

_DRAIN_EVERY_S: Final = 5.0
_CANCELLED_AGAIN_S: Final = 5.0  # more than a service takes to end
_log = structlog.get_logger()


@dataclass(slots=True)
class Drains:
    """Requests to drain, read from the store, that are made while this validator runs.

    Args:
        before: number of the newest request at the start, which was for an earlier process.
    """

    store: Store
    clock: Clock
    before: int
    _taken: int | None = field(init=False, default=None)

    async def requested(self) -> None:
        """Wait for a request and mark it as taken."""
        while self._taken is None:
            try:
                async with self.store.read() as tx:
                    newest = await tx.drains.newest()
                if newest > self.before:
                    async with self.store.begin() as tx:
                        await tx.drains.take(newest, self.clock.now())
                    self._taken = newest
                    return
            except StoreAwayError:  # the store's watch tells it
                pass
            await self.clock.sleep(_DRAIN_EVERY_S)

    async def over(self) -> None:
        """Mark the request as done, for the command that waits for it."""
        if self._taken is not None:
            taken = self._taken
            with suppress(StoreAwayError):  # who waits finds the validator gone
                await self.store.lasting(lambda tx: tx.drains.end(taken, self.clock.now()), patience_s=_DRAIN_EVERY_S)


class Service(Protocol):
    """Something that runs until it is cancelled."""

    async def run(self) -> None:
        """Run."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """The assembled services; `services` run next to the rounds and are cancelled after them, last started first."""

    settings: Settings
    store: Store
    metrics: Metrics
    board: Board
    health: HealthState
    rounds: RoundService
    services: Sequence[Service]
    drains: Drains

    async def run(self, stop: Stop, afterwards: Callable[[], Awaitable[None]] | None = None) -> bool:
        """Run until a stop is requested; return whether the round in hand was finished.

        The first request to stop lets the round in hand end within the grace time, the second one does not. A request
        to drain lets it end, however long that takes.

        Args:
            stop: the requests.
            afterwards: awaited when the rounds ended by themselves, before the services next to them stop.

        Raises:
            ValidatorError: a service cannot continue; the first one's error, when several fail together.
        """
        try:
            async with asyncio.TaskGroup() as group:
                services = [group.create_task(service.run()) for service in self.services]
                try:
                    finished = await self._rounds_until(stop)
                    if afterwards is not None:
                        await unless_set(stop.requested, afterwards)
                finally:
                    await ended(reversed(services), again_s=_CANCELLED_AGAIN_S)
        except ExceptionGroup as failures:
            known = _first_known(failures)
            if known is None:
                raise
            if isinstance(known, StoreLostError):
                damaged = isinstance(known, StoreDamagedError)
                reason = Reason.LOCAL_STORE_DAMAGED if damaged else Reason.LOCAL_STORE_TAKEN
                _log.error(Event.STORE_LOST, reason=str(reason), detail=known.detail)
            raise known from failures
        if finished:
            await self.drains.over()
        return finished

    async def _rounds_until(self, stop: Stop) -> bool:
        rounds = asyncio.create_task(self.rounds.run())
        requested = asyncio.create_task(stop.requested.wait())
        at_once = asyncio.create_task(stop.at_once.wait())
        drain = asyncio.create_task(self.drains.requested())
        try:
            await asyncio.wait({rounds, requested, drain}, return_when=asyncio.FIRST_COMPLETED)
            self.rounds.stopping.set()
            self.health.stopping = True
            if drain.done() and not requested.done():
                drain.result()
                _log.info(Event.DAEMON_DRAINING)
                await asyncio.wait({rounds, requested}, return_when=asyncio.FIRST_COMPLETED)
            if not rounds.done():
                _log.info(Event.DAEMON_STOPPING, grace_s=self.settings.rounds.grace_s)
            grace = self.settings.rounds.grace_s
            await asyncio.wait({rounds, at_once}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            if rounds.done():
                await rounds
        finally:
            # A settling that is on its way ends first.
            await ended((rounds, requested, at_once, drain), again_s=_CANCELLED_AGAIN_S)
        return not self.rounds.in_hand


def _first_known(failures: BaseExceptionGroup[BaseException]) -> ValidatorError | None:
    """Return the first ValidatorError of nested groups."""
    for failure in failures.exceptions:
        known = _first_known(failure) if isinstance(failure, BaseExceptionGroup) else failure
        if isinstance(known, ValidatorError):
            return known
    return None
